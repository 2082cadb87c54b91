package twin

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// snapshotReader reads snapshots of a core sometimes, and refreshes the next snapshot in random parts
// in between.
type snapshotReader struct {
	rng      *rand.Rand
	held     *scheduler.Snapshot // an earlier snapshot; nil: none yet
	heldCopy plainSnapshot       // its contents at that time
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
			return "what is kept up to date is not what there is: " + problem
		}
		if r.held != nil && !reflect.DeepEqual(plainSnapshotOf(r.held), r.heldCopy) {
			return fmt.Sprintf("the snapshot of %s has changed since", r.held.At)
		}
		if r.held == nil || n < 90 {
			r.held, r.heldCopy = snap, plainSnapshotOf(snap)
		}
	}
	return ""
}
