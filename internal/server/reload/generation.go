package reload

import (
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs/diff"
)

// Source is the kind of the source of a configuration (CFG-86).
type Source string

// The sources of configurations.
const (
	Embedded Source = "default"  // the default embedded in the program
	File     Source = "file"     // the file of --config, at the start or after a change
	Signal   Source = "sighup"   // the file of --config, after SIGHUP
	RM       Source = "rm"       // a resource manager
	REST     Source = "rest"     // a POST
	Rollback Source = "rollback" // a former generation
	Program  Source = "program"  // the program that the scheduler is embedded in
)

// Generation is an accepted configuration (CFG-86). It is immutable. Its JSON form is part of the format of each Store.
type Generation struct {
	Number   uint64            `json:"number"` // from 1, in the order of acceptance; reused only if it could not be stored
	At       time.Time         `json:"at"`
	Source   Source            `json:"source"`
	From     string            `json:"from"`              // name of the file, RM or generation; may be empty
	Checksum string            `json:"checksum"`          // of the text, like configs.Config.Checksum
	Text     string            `json:"text"`              // queues.yaml, unchanged
	Extra    map[string]string `json:"extra,omitempty"`   // the extra configuration of the RM; nil: none. Read-only
	Changes  *diff.Change      `json:"changes,omitempty"` // from the generation before; nil: unknown, or there was none
	Paused   time.Duration     `json:"paused"`            // how long the partitions were paused to put it in force
}

// history are the remembered generations, the oldest first (CFG-115). The last one is in
// force.
type history struct {
	all            []*Generation
	maxGenerations int
}

// maxHistoryBytes bounds the texts and extra configurations of a history together, in bytes. The latest
// two generations are always remembered.
const maxHistoryBytes = 64 << 20

// MaxExtraBytes bounds an extra configuration: its keys and values together, in bytes (CFG-99).
const MaxExtraBytes = 1 << 20

// extraBytes is the length of an extra configuration in bytes.
func extraBytes(extra map[string]string) (n int) {
	for key, value := range extra {
		n += len(key) + len(value)
	}
	return n
}

// CheckExtra is an error if an extra configuration exceeds MaxExtraBytes.
func CheckExtra(extra map[string]string) error {
	if n := extraBytes(extra); n > MaxExtraBytes {
		return fmt.Errorf("%w: its extra configuration has %d bytes in %d entries, at most %d are allowed",
			ErrRefused, n, len(extra), MaxExtraBytes)
	}
	return nil
}

// add appends g, drops generations beyond the bounds, and returns the number of the oldest one left.
func (h *history) add(g *Generation) (oldest uint64) {
	h.all = append(h.all, g)
	size := 0
	for i := len(h.all) - 1; i >= 0; i-- {
		size += len(h.all[i].Text) + extraBytes(h.all[i].Extra)
		if age := len(h.all) - i; age > h.maxGenerations || age > 2 && size > maxHistoryBytes {
			h.all = append([]*Generation(nil), h.all[i+1:]...)
			break
		}
	}
	return h.all[0].Number
}

func (h *history) latest() *Generation { return h.all[len(h.all)-1] }

// find returns a generation by its number; nil: it is not remembered.
func (h *history) find(n uint64) *Generation {
	for _, g := range h.all {
		if g.Number == n {
			return g
		}
	}
	return nil
}
