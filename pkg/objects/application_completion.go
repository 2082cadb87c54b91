package objects

import "time"

// How an application ends. When nothing is pending and nothing runs it is Completing, and
// when that has lasted a while it is Completed: it leaves its queue, and only history
// knows it from then on (behaviour.md 4.2).

// completingSince is an application in its last state but one. All wait equally long, so
// they stand in the order in which they are due.
type completingSince struct {
	app   *Application
	since int64 // nanoseconds since 1970
}

// onAllocationRemoved sees what follows from a piece of work having left the books of a. real: it was an
// allocation and no placeholder. With a placeholder left an application completes only if
// its last real allocation has gone just now: its gang may still come (behaviour.md 4.2).
func (p *Partition) onAllocationRemoved(a *Application, wasReal bool, now time.Time) {
	switch {
	case a.pendingCount > 0 || !a.allocated.IsZero():
	case a.state == Accepted || a.state == Running:
		if wasReal || a.boundCount == 0 {
			p.handleEvent(a, CompleteApplication, ReasonIdle, now)
		}
	case a.state == Completing:
		if a.completingEntry == nil && a.boundCount == 0 { // its time was up before its placeholders had gone
			p.complete(a, ReasonIdleTimeout, now)
		}
	}
}

// completeDue completes the applications that have been idle for long enough. Those that
// still have placeholders wait until these are gone; they are returned in key order,
// application by application.
func (p *Partition) completeDue(now time.Time) (unwanted []*Allocation) {
	for at, ok := p.completingDue(); ok && !now.Before(at); at, ok = p.completingDue() {
		a := p.completing.Remove(p.completing.Front()).(completingSince).app
		if a.completingEntry = nil; a.boundCount == 0 {
			p.complete(a, ReasonIdleTimeout, now)
			continue
		}
		unwanted = append(unwanted, a.Allocations()...)
	}
	return unwanted
}

// completingDue is when the next application completes.
func (p *Partition) completingDue() (time.Time, bool) {
	first := p.completing.Front()
	if first == nil {
		return time.Time{}, false
	}
	return time.Unix(0, first.Value.(completingSince).since).UTC().Add(p.lifetimes.Completing), true
}

// complete moves a to Completed, and to history. Requires: it has no work.
func (p *Partition) complete(a *Application, reason StateReason, now time.Time) {
	for a.state != Completed {
		p.handleEvent(a, CompleteApplication, reason, now)
	}
	p.forgetApplication(a)
	p.addToHistory(&p.completed, p.endedRecord(a, now), now)
}

// forgetApplication takes a out of its queue. Requires: it has no work.
func (p *Partition) forgetApplication(a *Application) {
	delete(p.apps, a.id)
	p.appList.remove(a)
	p.recordAppChange(a)
	p.preemptionGeneration++
	delete(a.queue.byID, a.id)
	p.untrackRamp(a)
	p.leaveAccounts(a)
	p.prune(a.queue)
}
