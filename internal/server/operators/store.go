package operators

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/canopy-scheduler/canopy/internal/server/kept"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// format identifies the format of the text of a Store. Names in the text must not change with it.
const format = "canopy operators 1"

// Store keeps what operators have switched, by partition, for the next start: as a text, wherever that is. Its methods
// must not be called concurrently, but First.
type Store struct {
	kept  kept.Text
	now   content
	text  []byte                             // of now; nil: after an error another one may be there
	first map[string]scheduler.OperatorState // by partition, when the text was read
}

// content is the JSON of a text.
type content struct {
	Format     string                             `json:"format"`
	Partitions map[string]scheduler.OperatorState `json:"partitions"`
}

// NewStore returns the Store of a text, which an earlier one has written. The error is of a text that is damaged.
func NewStore(t kept.Text) (*Store, error) {
	st := &Store{kept: t, now: content{Format: format}}
	if err := t.Read(&st.now); err != nil {
		return nil, err
	}
	if st.now.Format != format {
		return nil, fmt.Errorf("%s has the format %q, and this version reads %q", t.Name, st.now.Format, format)
	}
	if st.now.Partitions == nil {
		st.now.Partitions = map[string]scheduler.OperatorState{}
	}
	st.first = maps.Clone(st.now.Partitions)
	var err error
	st.text, err = st.now.encode()
	return st, err
}

func (c *content) encode() ([]byte, error) {
	text, err := json.MarshalIndent(c, "", "  ")
	return append(text, '\n'), err
}

// First returns the commands with which a partition begins: they restore what was kept when the store was opened. nil:
// nothing. It is safe for concurrent use. st may be nil.
func (st *Store) First(partition string) []scheduler.Command {
	if st == nil {
		return nil
	}
	s, ok := st.first[partition]
	if !ok {
		return nil
	}
	return []scheduler.Command{scheduler.RestoreOperators{State: s}}
}

// Applications returns the applications that are kept, by partition.
func (st *Store) Applications() map[string][]objects.AppID {
	all := make(map[string][]objects.AppID, len(st.now.Partitions))
	for name, s := range st.now.Partitions {
		all[name] = slices.Concat(s.Held, s.Admitted)
		for _, m := range s.Moved {
			all[name] = append(all[name], m.App)
		}
	}
	return all
}

// Store replaces what is kept of a partition, if that differs. After an error the former content is kept, as far as is
// known.
func (st *Store) Store(partition string, s scheduler.OperatorState) error {
	next := content{format, maps.Clone(st.now.Partitions)}
	next.Partitions[partition] = s
	if reflect.ValueOf(s).IsZero() {
		delete(next.Partitions, partition)
	}
	text, err := next.encode()
	if err != nil || bytes.Equal(text, st.text) {
		return err
	}
	// An error does not always mean that the text is not there: it must be written again, also if nothing differs.
	st.text = nil
	if err := st.kept.Write(text); err != nil {
		return err
	}
	st.now, st.text = next, text
	return nil
}

// Close ends the use of the store. st may be nil.
func (st *Store) Close() error {
	if st == nil {
		return nil
	}
	return st.kept.End()
}
