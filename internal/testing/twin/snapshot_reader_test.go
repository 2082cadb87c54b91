package twin

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// snapshotReader reads snapshots of a core sometimes, and refreshes the next snapshot in random parts
// in between.
type snapshotReader struct {
	rng      *rand.Rand
	held     *scheduler.Snapshot // an earlier snapshot; nil: none yet
	heldFull *scheduler.Snapshot // the full copy of that time, which shares no memory with it
}

func newSnapshotReader(seed uint64) *snapshotReader {
	return &snapshotReader{rng: rand.New(rand.NewPCG(seed, 32))}
}

// read reads, refreshes or compares; full is what the snapshot must be. It returns a difference; empty:
// none.
func (r *snapshotReader) read(c *scheduler.Core, full *scheduler.Snapshot, now time.Time) string {
	switch n := r.rng.IntN(200); {
	case n == 0:
		c.ForgetSnapshots()
	case n < 80:
		c.RefreshSnapshot(1 + r.rng.IntN(20))
	case n < 120:
		snap := c.Snapshot(now)
		if problem := SnapshotDifference(snap, full); problem != "" {
			return "what is kept up to date is not what there is: snapshot" + problem
		}
		if r.held != nil && SnapshotDifference(r.held, r.heldFull) != "" {
			return fmt.Sprintf("the snapshot of %s has changed since", r.held.At)
		}
		if r.held == nil || n < 90 {
			r.held, r.heldFull = snap, full
		}
	}
	return ""
}
