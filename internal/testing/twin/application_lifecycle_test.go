package twin

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Application states (APP-1, APP-6).

// endedApp is an application that completed or was rejected.
type endedApp struct {
	id      objects.AppID
	queue   objects.QueuePath // its queue, or the requested queue
	state   lifecycle.State
	endedAt time.Time
	peak    resources.Amounts
}

// updatePeak updates the maximum of what an application has allocated.
func (t *Twin) updatePeak(a *app) {
	h, most := t.total().apps[a.id], a.peak.Map()
	for _, held := range []resources.Amounts{h.allocated, h.placeholders} {
		for name, n := range held.All() {
			most[name] = max(most[name], n)
		}
	}
	a.peak = resources.FromMap(most)
}

// enterState records that an application has entered a state. emitStates emits it.
func (t *Twin) enterState(a *app, s lifecycle.State, why lifecycle.Reason) {
	a.state, a.stateSince, a.completionDue, a.askedAgain = s, t.now, false, false
	t.stateEntries++
	a.stateEntry = t.stateEntries
	t.recordState(a.id, s, why)
}

func (t *Twin) recordState(id objects.AppID, s lifecycle.State, why lifecycle.Reason) {
	t.unreportedStates = append(t.unreportedStates,
		scheduler.ApplicationUpdated{App: id, State: s, At: t.now, Reason: why})
}

func (t *Twin) emitStates() {
	t.out = append(t.out, t.unreportedStates...)
	t.unreportedStates = nil
}

// onAskAdded updates the state of an application that has a new ask.
func (t *Twin) onAskAdded(a *app) {
	switch a.state {
	case lifecycle.New:
		t.enterState(a, lifecycle.Accepted, lifecycle.ReasonFirstAsk)
	case lifecycle.Completing:
		t.enterState(a, lifecycle.Running, lifecycle.ReasonAskWhileCompleting)
		a.askedAgain = true
	}
}

// removeAllocations removes allocations and asks, and updates the state of their applications: one
// without pending asks and without real allocations completes. Placeholders prevent it unless a real
// allocation has ended.
func (t *Twin) removeAllocations(gone func(*allocation) bool) []*allocation {
	out := byKey(filter(t.allocations, gone))
	for _, w := range out {
		t.allocations = slices.DeleteFunc(t.allocations, func(x *allocation) bool { return x == w })
		if w.node == "" {
			t.unlink(w)
		}
		t.standInRemoved(w)
		t.updateIdle(t.app(w.ask.App), w.node != "" && !w.ask.Placeholder)
	}
	return out
}

// updateIdle updates the state of an application of which an ask or an allocation was removed; real: no placeholder.
func (t *Twin) updateIdle(a *app, real bool) {
	if t.standInsEnded(a) {
		return
	}
	h := t.total().apps[a.id]
	switch busy := len(h.asks) > 0 || !h.allocated.IsZero(); {
	case busy:
	case a.state == lifecycle.Completing && a.completionDue && h.running == 0:
		t.complete(a, lifecycle.ReasonIdleTimeout)
	case a.state != lifecycle.Completing && (h.running == 0 || real):
		t.enterState(a, lifecycle.Completing, lifecycle.ReasonIdle)
	}
}

// complete completes an application.
func (t *Twin) complete(a *app, why lifecycle.Reason) {
	if a.state == lifecycle.Resuming {
		t.enterState(a, lifecycle.Accepted, why)
	}
	if a.state != lifecycle.Completing {
		t.enterState(a, lifecycle.Completing, why)
	}
	t.endApp(a, lifecycle.Completed, why)
}

// endApp ends an application in its last state.
func (t *Twin) endApp(a *app, last lifecycle.State, why lifecycle.Reason) {
	t.enterState(a, last, why)
	t.apps = slices.DeleteFunc(t.apps, func(x *app) bool { return x == a })
	delete(t.held, a.id)
	t.prune(t.root)
	t.completed = t.appendEnded(t.completed, &endedApp{a.id, a.leaf, last, t.now, a.peak})
}

// appendEnded appends to a bounded list.
func (t *Twin) appendEnded(list []*endedApp, p *endedApp) []*endedApp {
	list = append(list, p)
	for len(list) > t.lifetimes.MaxEnded {
		t.expire(list[0], lifecycle.ReasonHistoryFull)
		list = list[1:]
	}
	return list
}

// expire emits the expiry of p, unless the ID is in use again, or the end of p was not emitted.
func (t *Twin) expire(p *endedApp, why lifecycle.Reason) {
	if t.app(p.id) == nil && p.state != lifecycle.Rejected {
		t.recordState(p.id, lifecycle.Expired, why)
	}
}

// recordRejected records a rejected application. The last rejection counts.
func (t *Twin) recordRejected(c scheduler.AddApplication) {
	t.rejected = slices.DeleteFunc(t.rejected, func(p *endedApp) bool { return p.id == c.App })
	t.rejected = t.appendEnded(t.rejected,
		&endedApp{c.App, objects.QueuePath(c.Queue), lifecycle.Rejected, t.now, resources.Amounts{}})
}

// runTimers applies what is due.
func (t *Twin) runTimers() {
	defer t.forgetTinyUsage()
	defer t.age()
	t.serveWaitingDeadline()
	t.runGangTimers()
	due := filter(t.apps, func(a *app) bool {
		at, ok := t.completionTime(a)
		return ok && !t.now.Before(at)
	})
	slices.SortStableFunc(due, func(a, b *app) int { return cmp.Compare(a.stateEntry, b.stateEntry) })
	for _, a := range due {
		left := byKey(t.allocationsOf(a.id))
		if a.state == lifecycle.New {
			t.complete(a, lifecycle.ReasonNoAsk)
			continue
		}
		if len(left) == 0 {
			t.complete(a, lifecycle.ReasonIdleTimeout)
			continue
		}
		a.completionDue = true
		for _, w := range filter(left, func(w *allocation) bool { return !w.ending && !w.preempting }) {
			t.timeOut(w)
			t.emit(scheduler.Released{
				Key: w.ask.Key, App: a.id, Type: scheduler.TimedOut,
				Message: fmt.Sprintf("the application %s is completing", a.id),
			})
		}
	}
	t.completed = t.expireOld(t.completed, t.lifetimes.Completed)
	t.rejected = t.expireOld(t.rejected, t.lifetimes.Rejected)
	t.emitStates()
	t.endRefusals()
}

func (t *Twin) expireOld(list []*endedApp, keep time.Duration) []*endedApp {
	return filter(list, func(p *endedApp) bool {
		old := !t.now.Before(p.endedAt.Add(keep))
		if old {
			t.expire(p, lifecycle.ReasonRetentionOver)
		}
		return !old
	})
}

// completionTime returns the time at which an application completes by a timeout, if it does.
func (t *Twin) completionTime(a *app) (time.Time, bool) {
	if a.state == lifecycle.New {
		return a.stateSince.Add(t.lifetimes.New), t.lifetimes.New > 0
	}
	return a.stateSince.Add(t.lifetimes.Completing), a.state == lifecycle.Completing && !a.completionDue
}
