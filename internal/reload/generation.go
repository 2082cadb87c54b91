package reload

import (
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
)

// Source says where a configuration came from.
type Source string

// The sources of configurations.
const (
	Embedded Source = "default"  // the one in the program
	File     Source = "file"     // the file of --config, at the start or when it changed
	Signal   Source = "sighup"   // the same file, because somebody sent SIGHUP
	RM       Source = "rm"       // the resource manager
	REST     Source = "rest"     // a POST
	Rollback Source = "rollback" // a former generation
)

// Generation is a configuration that was accepted. It never changes.
type Generation struct {
	Number   uint64 // from 1, in the order of acceptance; used twice only if it could not be stored
	At       time.Time
	Source   Source
	From     string            // which file, RM or generation; may be empty
	Checksum string            // of the text, as configs.Config has it
	Text     string            // queues.yaml, as it came
	Extra    map[string]string // the extra configuration of the RM; nil: none. Read-only
	Changes  *configs.Change   // against the one before; nil: not known, or there was none. Read-only
	Paused   time.Duration     // how long no partition decided, for it to be put in force
}

// history is the generations that are remembered, the oldest first. The last one is in
// force.
type history struct {
	all            []*Generation
	maxGenerations int
}

// maxHistoryBytes bounds the texts of a history together, with the extra configurations, in bytes. The
// latest two are always remembered.
const maxHistoryBytes = 64 << 20

// MaxExtraBytes is how long an extra configuration may be: its keys and values together.
const MaxExtraBytes = 1 << 20

// extraBytes is how long an extra configuration is.
func extraBytes(extra map[string]string) (n int) {
	for key, value := range extra {
		n += len(key) + len(value)
	}
	return n
}

// CheckExtra says why an extra configuration is not taken.
func CheckExtra(extra map[string]string) error {
	if n := extraBytes(extra); n > MaxExtraBytes {
		return fmt.Errorf("%w: its extra configuration has %d bytes in %d entries, at most %d are allowed",
			ErrRefused, n, len(extra), MaxExtraBytes)
	}
	return nil
}

// add makes g the latest, and returns the number of the oldest that is remembered then.
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

// find returns a generation, nil when it is not remembered.
func (h *history) find(n uint64) *Generation {
	for _, g := range h.all {
		if g.Number == n {
			return g
		}
	}
	return nil
}
