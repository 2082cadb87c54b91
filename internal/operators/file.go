package operators

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// fileName is the file in the data directory.
const fileName = "operators.json"

// format identifies the format of the file. Names in the file must not change with it.
const format = "canopy operators 1"

// File keeps what operators have switched, by partition. The caller must not use it concurrently, but First.
type File struct {
	path       string
	partitions map[string]stored
	first      map[string]stored // as they were when the file was opened
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
	out := stored{OnHold: orNil(s.Held), Stopped: orNil(s.Stopped), Cordoned: orNil(s.Cordoned), Draining: orNil(s.Drained), Nodes: orNil(s.Draining), Admitted: orNil(s.Admitted)}
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
	out := scheduler.OperatorState{Held: s.OnHold, Stopped: s.Stopped, Cordoned: s.Cordoned, Drained: s.Draining, Draining: s.Nodes, Admitted: s.Admitted}
	for _, m := range s.Moved {
		out.Moved = append(out.Moved, scheduler.MovedApplication{App: m.Application, Queue: m.Queue, Moved: objects.Moved{From: m.From, At: m.At, By: m.By}})
	}
	return out
}

// Open reads the file of a data directory, which must exist. A file that is missing is empty; one that cannot be read is an
// error that names it (OPS-4).
func Open(dir string) (*File, error) {
	f := &File{path: filepath.Join(dir, fileName), partitions: map[string]stored{}}
	text, err := os.ReadFile(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case err != nil:
		return nil, fmt.Errorf("what operators have switched cannot be read: %w", err)
	}
	var c content
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", f.path, err)
	}
	if c.Format != format {
		return nil, fmt.Errorf("%s has the format %q, and this version reads %q", f.path, c.Format, format)
	}
	for name, s := range c.Partitions {
		f.partitions[name] = s
	}
	f.first = make(map[string]stored, len(f.partitions))
	for name, s := range f.partitions {
		f.first[name] = s
	}
	return f, nil
}

// First are the commands with which a partition begins: they restore what the file had when it was opened. nil: nothing.
// It is safe for concurrent use.
func (f *File) First(partition string) []scheduler.Command {
	if f == nil {
		return nil
	}
	s, ok := f.first[partition]
	if !ok {
		return nil
	}
	return []scheduler.Command{scheduler.RestoreOperators{State: s.state()}}
}

// applications are the applications in the file, by partition.
func (f *File) applications() map[string][]objects.AppID {
	all := make(map[string][]objects.AppID, len(f.partitions))
	for name, s := range f.partitions {
		all[name] = slices.Concat(s.OnHold, s.Admitted)
		for _, m := range s.Moved {
			all[name] = append(all[name], m.Application)
		}
	}
	return all
}

// Store replaces what the file has of a partition, if that differs. An interrupted write leaves the former content.
func (f *File) Store(partition string, s scheduler.OperatorState) error {
	before, had := f.partitions[partition]
	if reflect.DeepEqual(before, newStored(s)) {
		return nil
	}
	f.partitions[partition] = newStored(s)
	if reflect.ValueOf(newStored(s)).IsZero() {
		delete(f.partitions, partition)
	}
	err := f.write()
	if err != nil {
		if delete(f.partitions, partition); had {
			f.partitions[partition] = before
		}
	}
	return err
}

func (f *File) write() (err error) {
	text, err := json.MarshalIndent(content{format, f.partitions}, "", "  ")
	if err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(f.path), fileName+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temporary.Name()))
		}
	}()
	_, err = temporary.Write(append(text, '\n'))
	if err = errors.Join(err, temporary.Sync(), temporary.Close()); err != nil {
		return err
	}
	if err = os.Rename(temporary.Name(), f.path); err != nil {
		return err
	}
	return syncDirectory(filepath.Dir(f.path))
}

// syncDirectory makes a rename in a directory last.
func syncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
