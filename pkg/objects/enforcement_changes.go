package objects

import "slices"

// enforcement is the queues above an enforced max, and when to search for victims in them.
type enforcement struct {
	ignoreAskChanges
	ignoreAllocationChanges
	ignoreNodeChanges
	ignoreAccountChanges
	ignoreApplicationChanges

	violating []*Queue // above an enforced max and not due, by the time of the next evaluation
	due       []*Queue // above an enforced max and due, the lowest first
	toRecheck []*Queue // whose violation may be out of date
}

// recheck lists q for UpdateViolations if it rose above its enforced max or fell within it.
func (e *enforcement) recheck(q *Queue) {
	if q.policy.maxEnforced && !q.recheckListed && q.violationChanged() {
		e.list(q)
	}
}

func (e *enforcement) list(q *Queue) {
	q.recheckListed = true
	e.toRecheck = append(e.toRecheck, q)
}

func (e *enforcement) queueUsageChanged(q *Queue)      { e.recheck(q) }
func (e *enforcement) queuePreemptingChanged(q *Queue) { e.recheck(q) }

// queueSettingsChanged is recheck also for a queue whose max is no longer enforced.
func (e *enforcement) queueSettingsChanged(q *Queue) {
	if !q.recheckListed && q.violationChanged() {
		e.list(q)
	}
}

// settingsApplied sorts the queues above an enforced max again, as their delays may have changed.
// Queues that were due wait again for their time.
func (e *enforcement) settingsApplied() {
	e.violating = append(e.violating, e.due...)
	e.due = e.due[:0]
	slices.SortFunc(e.violating, compareEvaluations)
}

// The other changes change neither a max nor what is above it. A dynamic leaf, whose quotas tags change,
// has no enforced max.

func (*enforcement) queueRunningChanged(*Queue)            {}
func (*enforcement) queueChanged(*Queue)                   {}
func (*enforcement) queueStateChanged(*Queue, QueueChange) {}
func (*enforcement) quotasChanged(*Queue)                  {}
func (*enforcement) queueTreeChanged()                     {}
func (*enforcement) configurationChanged()                 {}
func (*enforcement) rebuilding()                           {}
func (*enforcement) resourceAdded()                        {}
func (*enforcement) refusalsMayEnd()                       {}
