package twin

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// reader reads a core now and then, and refreshes the next snapshot by random amounts in between.
type reader struct {
	dice *rand.Rand
	old  *scheduler.Snapshot // one that was read some time ago; nil: none yet
	was  plainSnapshot       // what it said then
}

func newReader(seed uint64) *reader { return &reader{dice: rand.New(rand.NewPCG(seed, 32))} }

// read does one of several things with c; full is what its snapshot must be. It returns what is
// wrong; empty: nothing.
func (r *reader) read(c *scheduler.Core, full *scheduler.Snapshot, now time.Time) string {
	switch n := r.dice.IntN(200); {
	case n == 0:
		c.ForgetSnapshots()
	case n < 80:
		c.RefreshSnapshot(1 + r.dice.IntN(20))
	case n < 120:
		snap := c.Snapshot(now)
		if problem := SnapshotDifference(snap, full); problem != "" {
			return "what is kept up to date is not what there is: " + problem
		}
		if r.old != nil && !reflect.DeepEqual(plain(r.old), r.was) {
			return fmt.Sprintf("the snapshot of %s has changed since", r.old.At)
		}
		if r.old == nil || n < 90 {
			r.old, r.was = snap, plain(snap)
		}
	}
	return ""
}
