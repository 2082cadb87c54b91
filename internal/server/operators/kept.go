package operators

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Store keeps what operators have switched, by partition, for the next start. Its methods must not be called
// concurrently, but First.
type Store interface {
	// First are the commands with which a partition begins: they restore what was kept when the store was opened. nil:
	// nothing. It is safe for concurrent use.
	First(partition string) []scheduler.Command
	// Store replaces what is kept of a partition, if that differs. After an error the former content is kept, as far as is
	// known.
	Store(partition string, s scheduler.OperatorState) error
	// Applications are the applications that are kept, by partition.
	Applications() map[string][]objects.AppID
}

// format identifies the format of the text of Kept. Names in the text must not change with it.
const format = "canopy operators 1"

// Kept is the part of a Store that does not depend on where its text is: it makes the text, and reads it.
type Kept struct {
	write      func(text []byte) error
	partitions map[string]stored
	first      map[string]stored // as they were when the text was read
	// An error of write does not always mean that the text is not there: the text must be written again, also if nothing
	// differs from partitions.
	unsure bool
}

// NewKept reads a text that write got in an earlier run; empty: there is none. write replaces it; on an error the
// former text should be there. name is where the text is, for errors.
func NewKept(name string, text []byte, write func(text []byte) error) (*Kept, error) {
	k := &Kept{write: write, partitions: map[string]stored{}, first: map[string]stored{}}
	if len(text) == 0 {
		return k, nil
	}
	var c content
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", name, err)
	}
	if c.Format != format {
		return nil, fmt.Errorf("%s has the format %q, and this version reads %q", name, c.Format, format)
	}
	for partition, s := range c.Partitions {
		k.partitions[partition], k.first[partition] = s, s
	}
	return k, nil
}

// First is that of Store.
func (k *Kept) First(partition string) []scheduler.Command {
	s, ok := k.first[partition]
	if !ok {
		return nil
	}
	return []scheduler.Command{scheduler.RestoreOperators{State: s.state()}}
}

// Applications is that of Store.
func (k *Kept) Applications() map[string][]objects.AppID {
	all := make(map[string][]objects.AppID, len(k.partitions))
	for name, s := range k.partitions {
		all[name] = slices.Concat(s.OnHold, s.Admitted)
		for _, m := range s.Moved {
			all[name] = append(all[name], m.Application)
		}
	}
	return all
}

// Store is that of Store.
func (k *Kept) Store(partition string, s scheduler.OperatorState) error {
	before, had := k.partitions[partition]
	if !k.unsure && reflect.DeepEqual(before, newStored(s)) {
		return nil
	}
	k.partitions[partition] = newStored(s)
	if reflect.ValueOf(newStored(s)).IsZero() {
		delete(k.partitions, partition)
	}
	text, err := json.MarshalIndent(content{format, k.partitions}, "", "  ")
	if err == nil {
		err = k.write(append(text, '\n'))
	}
	k.unsure = err != nil
	if k.unsure {
		delete(k.partitions, partition)
		if had {
			k.partitions[partition] = before
		}
	}
	return err
}

// content is the JSON of a file.
type content struct {
	Format     string            `json:"format"`
	Partitions map[string]stored `json:"partitions"`
}

// stored is what operators have switched in a partition.
type stored struct {
	OnHold   []objects.AppID     `json:"onHold,omitempty"`
	Stopped  []objects.QueuePath `json:"stopped,omitempty"`
	Cordoned []objects.NodeID    `json:"cordoned,omitempty"`
	Draining []objects.QueuePath `json:"draining,omitempty"`
	Nodes    []objects.NodeID    `json:"drainingNodes,omitempty"`
	Moved    []moved             `json:"moved,omitempty"`
	Admitted []objects.AppID     `json:"admitted,omitempty"` // by drained queues
}

// moved is an application that an operator has moved.
type moved struct {
	Application objects.AppID     `json:"application"`
	Queue       objects.QueuePath `json:"queue"`
	From        objects.QueuePath `json:"from"`
	At          time.Time         `json:"at"`
	By          string            `json:"by,omitempty"`
}

// newStored is s as it is stored. Empty lists are nil.
func newStored(s scheduler.OperatorState) stored {
	out := stored{OnHold: orNil(s.Held), Stopped: orNil(s.Stopped), Cordoned: orNil(s.Cordoned),
		Draining: orNil(s.Drained), Nodes: orNil(s.Draining), Admitted: orNil(s.Admitted)}
	for _, m := range s.Moved {
		out.Moved = append(out.Moved, moved{m.App, m.Queue, m.From, m.At.UTC(), m.By})
	}
	return out
}

func orNil[S ~[]E, E any](list S) S {
	if len(list) == 0 {
		return nil
	}
	return list
}

// state is the reverse of newStored.
func (s *stored) state() scheduler.OperatorState {
	out := scheduler.OperatorState{Held: s.OnHold, Stopped: s.Stopped, Cordoned: s.Cordoned, Drained: s.Draining,
		Draining: s.Nodes, Admitted: s.Admitted}
	for _, m := range s.Moved {
		out.Moved = append(out.Moved,
			scheduler.MovedApplication{App: m.Application, Queue: m.Queue,
				Moved: objects.Moved{From: m.From, At: m.At, By: m.By}})
	}
	return out
}
