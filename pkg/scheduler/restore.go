package scheduler

import (
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
)

// A Core can be written and read as what is reachable from it (package objectgraph), which makes the same decisions
// from then on. Its Oracle is not written, and there are no snapshots.

// Variables are pointers to the package-level variables that a Core points to.
func Variables() []any { return objects.Variables() }

// Held has a value of each type that an interface in a Core may have.
func Held() []any {
	return append(objects.Held(), engineHost{}, reservationHost{}, (*preemption.CycleDetector)(nil))
}

// Reattach completes a Core that was read. Its owner calls it before anything else, and then SetOracle if the one that
// was written had an Oracle.
func (c *Core) Reattach() {
	objects.Reattach(c.part)
	c.part.Unwatch() // views is not written
}
