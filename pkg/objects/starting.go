package objects

import "github.com/canopy-scheduler/canopy/pkg/policies"

// Starting applications of StateAware leaves. Other queues have no index of them.

// isStarting reports whether a is a starting application: in a StateAware leaf, not ramped up, and
// with pending asks or still with its first allocation, and not on hold. Only the first starting application of a
// leaf may be allocated anything (ORD-32, ORD-35).
func (a *Application) isStarting() bool {
	return a.queue.policy.sort == policies.StateAware && !a.rampedUp && !a.onHold &&
		(a.pendingCount > 0 || a.allocationsMade > 0 && a.boundCount > 0)
}

// FirstStarting is the only application of a StateAware leaf that may be allocated something
// although it has not ramped up (ORD-32); nil: there is none.
func (q *Queue) FirstStarting() *Application {
	if q.starting == nil {
		return nil
	}
	return q.starting.Lowest()
}

// reindexStarting updates the position of a among the starting applications of q, of which it is one or not.
func (q *Queue) reindexStarting(a *Application, is bool) {
	if is {
		a.ownExtra() // the index writes to its entry
	}
	if is || a.extra.startingEntry.Indexed() {
		q.starting.Reindex(a, is)
	}
}

// clearStarting removes all starting applications from the index of q. Their entries must be reset.
func (q *Queue) clearStarting() {
	if q.starting != nil {
		q.starting.Fill(nil)
	}
}

// resetStarting makes the entry of a one of no index. Requires: its index was cleared.
func (a *Application) resetStarting() {
	if a.extra.startingEntry.Indexed() {
		a.extra.startingEntry.Reset()
	}
}

// startingCount is the number of starting applications in the index of q.
func (q *Queue) startingCount() int {
	if q.starting == nil {
		return 0
	}
	return q.starting.Len()
}

// checkStarting reports what is wrong with the index of starting applications of q.
func (q *Queue) checkStarting() error {
	if q.starting == nil {
		return nil
	}
	return q.starting.Check("starting applications of " + string(q.path))
}
