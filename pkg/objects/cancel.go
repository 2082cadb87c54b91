package objects

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// Cancelled reports whether an operator has cancelled a. It ends when its last allocation has (OPS-7).
func (a *Application) Cancelled() bool { return a.cancelled }

// CancelApplication begins the end of a: it is Failing, its asks are withdrawn, and running are its allocations whose
// release is not ordered yet (OPS-7). Both are in key order. The caller marks running for preemption, and calls
// EndCancelled then. Requires: a is not cancelled.
func CancelApplication(p *Partition, a *Application, now time.Time) (withdrawn, running []*Allocation) {
	a.cancelled = true
	if a.state != lifecycle.Failing {
		p.handleEvent(a, lifecycle.FailApplication, lifecycle.ReasonCancelled, now)
	}
	for _, x := range a.Allocations() {
		switch {
		case x.Pending():
			withdrawn = append(withdrawn, x)
		case !p.Preempting(x) && !Ending(p, x):
			running = append(running, x)
		}
	}
	removeAsks(p, withdrawn)
	return withdrawn, running
}

// EndCancelled ends a cancelled application that has no allocations: it is Failed.
func EndCancelled(p *Partition, a *Application, now time.Time) { p.onAllocationRemoved(a, false, now) }

// removeAsks removes pending asks of an application.
func removeAsks(p *Partition, asks []*Allocation) {
	inOrder := slices.SortedFunc(slices.Values(asks),
		func(x, y *Allocation) int { return policies.CompareAsks(&x.key, &y.key) })
	for _, x := range inOrder { // in order, each removal is at the front of its group
		p.removeAsk(x)
	}
}
