package objects

import "time"

// Completion of applications. An application with nothing pending and nothing allocated is
// Completing; after Lifetimes.Completing it is Completed, is removed from its queue and is in the
// history only (APP-6, APP-9).

// completingSince is a Completing application. The timeout is the same for all, so the list is in
// the order of the deadlines.
type completingSince struct {
	app   *Application
	since int64 // nanoseconds since 1970
}

// onAllocationRemoved updates the state of a after one of its asks or allocations was removed.
// wasReal: it was an allocation and no placeholder. An application with placeholders left completes
// only if a real allocation ended last, as the members of its gang may still come (APP-7).
func (p *Partition) onAllocationRemoved(a *Application, wasReal bool, now time.Time) {
	switch {
	case a.pendingCount > 0 || !a.allocated.IsZero():
	case a.state == Accepted || a.state == Running:
		if wasReal || a.boundCount == 0 {
			p.handleEvent(a, CompleteApplication, ReasonIdle, now)
		}
	case a.state == Completing:
		if a.completingEntry == nil && a.boundCount == 0 { // its time had passed before its placeholders ended
			p.complete(a, ReasonIdleTimeout, now)
		}
	}
}

// completeDue completes the applications whose time has come. An application with placeholders
// completes when these have ended; they are returned, to be released, in key order within each
// application (APP-10).
func (p *Partition) completeDue(now time.Time) (unwanted []*Allocation) {
	for at, ok := p.completingDue(); ok && !now.Before(at); at, ok = p.completingDue() {
		a := p.life.completing.Remove(p.life.completing.Front()).(completingSince).app
		if a.completingEntry = nil; a.boundCount == 0 {
			p.complete(a, ReasonIdleTimeout, now)
			continue
		}
		unwanted = append(unwanted, a.Allocations()...)
	}
	return unwanted
}

// completingDue is when the next application completes. ok is false if there is none.
func (p *Partition) completingDue() (time.Time, bool) {
	first := p.life.completing.Front()
	if first == nil {
		return time.Time{}, false
	}
	return time.Unix(0, first.Value.(completingSince).since).UTC().Add(p.life.lifetimes.Completing), true
}

// complete moves a to Completed and to the history. Requires: it has no asks and no allocations.
func (p *Partition) complete(a *Application, reason StateReason, now time.Time) {
	for a.state != Completed {
		p.handleEvent(a, CompleteApplication, reason, now)
	}
	p.forgetApplication(a)
	p.addToHistory(&p.life.completed, p.endedRecord(a, now), now)
}

// forgetApplication removes a from the partition. Requires: it has no asks and no allocations.
func (p *Partition) forgetApplication(a *Application) {
	delete(p.apps, a.id)
	p.lists.apps.remove(a)
	p.journal.applicationRemoved(a)
	delete(a.queue.byID, a.id)
	p.untrackRamp(a)
	p.leaveAccounts(a)
	p.prune(a.queue)
}
