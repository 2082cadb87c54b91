package reload

import (
	"errors"
	"maps"
)

// Counts are the state and the counts of a Reloader, for metrics (OBS-89).
type Counts struct {
	Generation uint64            // in force
	HasStore   bool              // generations are kept for the next start
	Stored     bool              // the generation in force is
	Rejections map[Source]uint64 // by source; every source that can be rejected has a number
}

// Counts returns the state and the counts now. It does not wait for a configuration that is being put in force.
func (r *Reloader) Counts() Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Counts{
		Generation: r.history.latest().Number, HasStore: r.opt.Store != nil, Stored: r.stored,
		Rejections: maps.Clone(r.rejections),
	}
}

// countRejection counts a configuration that was rejected. One for which the partitions did not pause is
// not: the watch of the file applies it again.
func (r *Reloader) countRejection(source Source, reason error) {
	if errors.Is(reason, ErrBusy) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rejections[source]++
}

// setStored records whether the generation in force is in the Store.
func (r *Reloader) setStored(stored bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stored = stored
}
