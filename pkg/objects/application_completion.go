package objects

import (
	"container/list"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Completion of applications. An application with nothing pending and nothing allocated is
// Completing; after Lifetimes.Completing it is Completed, is removed from its queue and is in the
// history only (APP-6, APP-9).

// deadlineSince is an application that has a deadline, New or Completing. The timeout of a state is the same for all,
// so its list is in the order of the deadlines.
type deadlineSince struct {
	app   *Application
	since int64 // nanoseconds since 1970
}

// onAllocationRemoved updates the state of a after one of its asks or allocations was removed.
// wasReal: it was an allocation and no placeholder. An application with placeholders left completes
// only if a real allocation ended last, as the members of its gang may still come (APP-7).
func (p *Partition) onAllocationRemoved(a *Application, wasReal bool, now time.Time) {
	switch {
	case a.state == lifecycle.Resuming || a.state == lifecycle.Failing:
		p.Gangs().onPlaceholdersEnded(a, now)
	case a.pendingCount > 0 || !a.allocated.IsZero():
	case a.state == lifecycle.Accepted || a.state == lifecycle.Running:
		if wasReal || a.boundCount == 0 {
			p.handleEvent(a, lifecycle.CompleteApplication, lifecycle.ReasonIdle, now)
		}
	case a.state == lifecycle.Completing:
		if a.extra.deadlineEntry == nil && a.boundCount == 0 { // its time had passed before its placeholders ended
			p.complete(a, lifecycle.ReasonIdleTimeout, now)
		}
	}
}

// completeDue completes the applications whose time has come, also New ones that had no ask (APP-3). An application
// with placeholders completes when these have ended; those whose release is not ordered yet are returned, to be
// released, in key order within each application (APP-10).
func (p *Partition) completeDue(now time.Time) (unwanted []*Allocation) {
	for at, ok := p.deadlines.newDue(); ok && !now.Before(at); at, ok = p.deadlines.newDue() {
		p.complete(p.deadlines.newApps.Front().Value.(deadlineSince).app, lifecycle.ReasonNoAsk, now)
	}
	for at, ok := p.deadlines.completingDue(); ok && !now.Before(at); at, ok = p.deadlines.completingDue() {
		a := p.deadlines.completing.Remove(p.deadlines.completing.Front()).(deadlineSince).app
		a.extra.deadlineEntry = nil
		if a.boundCount == 0 {
			p.complete(a, lifecycle.ReasonIdleTimeout, now)
			continue
		}
		for _, x := range a.Allocations() {
			if x.IsPlaceholder() && !p.gangs.isEnding(x) && !p.Preempting(x) {
				unwanted = append(unwanted, x)
			}
		}
	}
	for _, x := range unwanted {
		p.Gangs().TimeOut(x)
	}
	return unwanted
}

// newDue returns when the next New application completes. ok is false if there is none.
func (d *deadlines) newDue() (at time.Time, ok bool) { return dueFirst(&d.newApps, d.lifetimes.New) }

// completingDue returns when the next application completes. ok is false if there is none.
func (d *deadlines) completingDue() (at time.Time, ok bool) {
	return dueFirst(&d.completing, d.lifetimes.Completing)
}

// dueFirst returns when the first application of a list of deadlines has been there for a time.
func dueFirst(l *list.List, after time.Duration) (at time.Time, ok bool) {
	first := l.Front()
	if first == nil {
		return at, false
	}
	return time.Unix(0, first.Value.(deadlineSince).since).UTC().Add(after), true
}

// setDeadline lets the deadline of a, of which there is one at most, begin now in a list of the partition.
func (a *Application) setDeadline(l *list.List, now time.Time) {
	a.ownExtra().deadlineEntry = l.PushBack(deadlineSince{a, now.UnixNano()})
}

// clear removes a from the lists of deadlines.
func (d *deadlines) clear(a *Application) {
	if e := a.extra.deadlineEntry; e != nil {
		d.newApps.Remove(e) // the list that it is not in ignores it
		d.completing.Remove(e)
		a.extra.deadlineEntry = nil
	}
}

// complete moves a to Completed, or to Failed if it is Failing, and to the history. Requires: it has no asks and no
// allocations.
func (p *Partition) complete(a *Application, reason lifecycle.Reason, now time.Time) {
	by := lifecycle.CompleteApplication
	switch a.state {
	case lifecycle.Resuming: // it cannot complete from there
		p.handleEvent(a, lifecycle.RunApplication, reason, now)
	case lifecycle.Failing:
		by = lifecycle.FailApplication
	}
	for a.state != lifecycle.Completed && a.state != lifecycle.Failed {
		p.handleEvent(a, by, reason, now)
	}
	record := &lifecycle.Ended{
		ID: string(a.ID()), User: a.User(), Queue: string(a.queue.path), State: a.state, Submitted: a.Submitted(),
		Finished: now,
		Peak:     p.Peak(a), Log: slices.Clone(a.log), Usage: a.UsageHistory(),
	}
	if a.gang != nil {
		record.SetGang(a.gang.Groups())
	}
	p.forgetApplication(a) // its queue may be removed, and then indexes of its peak have no names
	p.expireRecords(p.deadlines.completed.Add(record), lifecycle.ReasonHistoryFull, now)
}

// forgetApplication removes a from the partition. Requires: it has no asks and no allocations.
func (p *Partition) forgetApplication(a *Application) {
	delete(p.apps, a.ID())
	p.deadlines.clear(a)
	delete(p.lists.moved, a)
	p.lists.apps.remove(a)
	p.journal.post(Change{Kind: ApplicationRemoved, App: a})
	delete(a.queue.byID, a.ID())
	p.deadlines.ramping.remove(a)
	if a.gang != nil {
		p.gangs.timers.move(a, a.gang.Deadline(), time.Time{})
		delete(p.gangs.complete, a)
	}
	p.leaveAccounts(a)
	p.Prune(a.queue)
}

// expireRecords states that records left the history (APP-41), except those of an ID in use again, which the RM
// would take for the new application.
func (p *Partition) expireRecords(removed []*lifecycle.Ended, reason lifecycle.Reason, now time.Time) {
	for _, e := range removed {
		to, ok := e.State.After(lifecycle.ExpireApplication)
		if !ok {
			panic("objects: application " + e.ID + " is in the history in state " + e.State.String())
		}
		if _, used := p.apps[AppID(e.ID)]; !used {
			p.journal.post(Change{Kind: ApplicationExpired, Ended: e, Entered: lifecycle.NewChange(to, reason, now)})
		}
	}
}

// Completed are the completed and the failed applications in the history, oldest first (APP-38). An ID may occur
// more than once.
func (p *Partition) Completed() persistent.List[lifecycle.Ended] { return p.deadlines.completed.List() }

// Rejected are the rejected applications in the history, oldest first (APP-39). Of an ID only the
// newest entry is there.
func (p *Partition) Rejected() persistent.List[lifecycle.Ended] { return p.deadlines.rejected.List() }

// Reject records in the history that an application was rejected, and why.
func (p *Partition) Reject(id AppID, user security.User, queue QueuePath, reason string, now time.Time) {
	p.deadlines.rejected.Add(lifecycle.NewRejection(string(id), user, string(queue), reason, now))
}
