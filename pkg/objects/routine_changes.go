package objects

import "github.com/canopy-scheduler/canopy/pkg/policies"

// routineChanges records whether anything but routine placements has changed. A routine placement binds a pending ask
// that is in no gang, in a leaf that is not StateAware, and has no effect on what precedes decisions: nominations,
// reservations, placeholders, quota enforcement, and deadlines. Between routine placements a scheduler need examine
// none of these (ORD-6).
type routineChanges struct {
	other bool // something else has changed, or may not be routine
}

// Routine reports whether only routine placements have changed the partition since BeginRoutine returned true.
func (p *Partition) Routine() bool { return !p.journal.routine.other }

// BeginRoutine reports whether nothing precedes the placement of the first feasible ask: there are no nominations,
// preempting allocations, reservations or placeholders to replace, and all events and ended objects were taken. What
// other packages keep, and what becomes due with time, is for the caller to examine.
func (p *Partition) BeginRoutine() bool {
	j := &p.journal
	routine := len(p.marks.nominees) == 0 && len(p.marks.preempting) == 0 && len(p.marks.reservations.asks) == 0 &&
		len(p.gangs.ending) == 0 && len(p.gangs.replacing) == 0 &&
		len(j.events.applications) == 0 && len(j.events.queues) == 0 &&
		!j.order.sharesStale && len(j.order.joining) == 0 && !j.retries.requeueRequested
	j.routine.other = !routine
	return routine
}

// Wants leaves out what a routine placement changes: the states that it changes are events, which are reported after
// each placement; max applications are masks. A waiting state only is a report.
func (*routineChanges) Wants() ChangeSet {
	return EveryChange &^ (1<<AskRemoved | 1<<NodeUsageChanged | 1<<QueueUsageChanged | 1<<QueueRunningChanged |
		1<<AccountUsageChanged | 1<<AccountRunningChanged | 1<<ApplicationStateChanged | 1<<RunningChanged |
		1<<WaitingStateChanged | 1<<NodesOpened)
}

func (r *routineChanges) On(c *Change) {
	switch c.Kind {
	case AllocationPosted: // the application of a gang has a timeout, and a StateAware one may ramp up by time
		x := c.Ask
		if x.app.gang != nil || x.ask.Placeholder || x.app.queue.policy.sort == policies.StateAware {
			r.other = true
		}
	default:
		r.other = true
	}
}
