package operators

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Store keeps what operators have switched, by partition, for the next start. Its methods must not be called
// concurrently, but First.
type Store interface {
	// First returns the commands with which a partition begins: they restore what was kept when the store was opened. nil:
	// nothing. It is safe for concurrent use.
	First(partition string) []scheduler.Command
	// Store replaces what is kept of a partition, if that differs. After an error the former content is kept, as far as is
	// known.
	Store(partition string, s scheduler.OperatorState) error
	// Applications returns the applications that are kept, by partition.
	Applications() map[string][]objects.AppID
}

// format identifies the format of the text of Kept. Names in the text must not change with it.
const format = "canopy operators 1"

// Kept is the part of a Store that does not depend on where its text is: it makes the text, and reads it.
type Kept struct {
	write func(text []byte) error
	now   content
	text  []byte                             // of now; nil: after an error another one may be there
	first map[string]scheduler.OperatorState // by partition, when the text was read
}

// content is the JSON of a text.
type content struct {
	Format     string                             `json:"format"`
	Partitions map[string]scheduler.OperatorState `json:"partitions"`
}

// NewKept reads a text that write got in an earlier run; empty: there is none. write replaces it; on an error the
// former text should be there. name is where the text is, for errors.
func NewKept(name string, text []byte, write func(text []byte) error) (*Kept, error) {
	k := &Kept{write: write, now: content{Format: format}}
	if len(text) > 0 {
		if err := json.Unmarshal(text, &k.now); err != nil {
			return nil, fmt.Errorf("%s is damaged: %w", name, err)
		}
	}
	if k.now.Format != format {
		return nil, fmt.Errorf("%s has the format %q, and this version reads %q", name, k.now.Format, format)
	}
	if k.now.Partitions == nil {
		k.now.Partitions = map[string]scheduler.OperatorState{}
	}
	k.first = maps.Clone(k.now.Partitions)
	var err error
	k.text, err = k.now.encode()
	return k, err
}

func (c *content) encode() ([]byte, error) {
	text, err := json.MarshalIndent(c, "", "  ")
	return append(text, '\n'), err
}

// First implements Store.
func (k *Kept) First(partition string) []scheduler.Command {
	s, ok := k.first[partition]
	if !ok {
		return nil
	}
	return []scheduler.Command{scheduler.RestoreOperators{State: s}}
}

// Applications implements Store.
func (k *Kept) Applications() map[string][]objects.AppID {
	all := make(map[string][]objects.AppID, len(k.now.Partitions))
	for name, s := range k.now.Partitions {
		all[name] = slices.Concat(s.Held, s.Admitted)
		for _, m := range s.Moved {
			all[name] = append(all[name], m.App)
		}
	}
	return all
}

// Store implements Store.
func (k *Kept) Store(partition string, s scheduler.OperatorState) error {
	next := content{format, maps.Clone(k.now.Partitions)}
	next.Partitions[partition] = s
	if reflect.ValueOf(s).IsZero() {
		delete(next.Partitions, partition)
	}
	text, err := next.encode()
	if err != nil || bytes.Equal(text, k.text) {
		return err
	}
	// An error does not always mean that the text is not there: it must be written again, also if nothing differs.
	k.text = nil
	if err := k.write(text); err != nil {
		return err
	}
	k.now, k.text = next, text
	return nil
}
