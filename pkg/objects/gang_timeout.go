package objects

import (
	"cmp"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/gangs"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
)

// gangTimers is the applications whose gang has a deadline, by deadline and then by ID.
type gangTimers []gangTimer

type gangTimer struct {
	at  time.Time
	app *Application
}

func (t gangTimer) compare(other gangTimer) int {
	return cmp.Or(t.at.Compare(other.at), cmp.Compare(t.app.ID(), other.app.ID()))
}

// move changes the deadline of a; the zero time is none.
func (t *gangTimers) move(a *Application, from, to time.Time) {
	if from.Equal(to) {
		return
	}
	if at, found := slices.BinarySearchFunc(*t, gangTimer{from, a}, gangTimer.compare); found {
		*t = slices.Delete(*t, at, at+1)
	}
	if !to.IsZero() {
		at, _ := slices.BinarySearchFunc(*t, gangTimer{to, a}, gangTimer.compare)
		*t = slices.Insert(*t, at, gangTimer{to, a})
	}
}

// due is the first deadline. ok is false if there is none.
func (t gangTimers) due() (at time.Time, ok bool) {
	if len(t) == 0 {
		return at, false
	}
	return t[0].at, true
}

// GangTimeout has what the end of a placeholder timeout has done. The RM must be asked to end all of it, in this order.
type GangTimeout struct {
	Application *Application
	Released    []*Allocation // placeholders, which are allocated until their releases are confirmed; in key order
	Cancelled   []*Allocation // asks, which were pending and are gone; in key order
}

// ExpireNext ends the first placeholder timeout that is due at now (GAN-10). ok is false if none is. A gang that was
// not complete takes its application with it: all asks are cancelled and all placeholders are released, and the
// application is Resuming if the gang is Soft, Failing if it is Hard. Of an application that runs, the placeholders
// that are left end.
func (l GangLedger) ExpireNext(now time.Time) (out GangTimeout, ok bool) {
	at, ok := l.p.gangs.timers.due()
	if !ok || now.Before(at) {
		return out, false
	}
	a := l.p.gangs.timers[0].app
	out.Application = a
	a.gang.Expire()
	l.p.gangs.timers.move(a, at, time.Time{})
	failed := a.state == lifecycle.Accepted
	if failed {
		event := lifecycle.ResumeApplication
		if a.gang.Style() == gangs.Hard {
			event = lifecycle.FailApplication
		}
		l.p.handleEvent(a, event, lifecycle.ReasonReservationTimeout, now)
	}
	if a.gang.Virtual() {
		out.Cancelled = l.expireVirtual(a, failed)
		l.p.onAllocationRemoved(a, false, now)
		return out, true
	}
	for _, x := range a.Allocations() {
		switch {
		case x.Pending() && (failed || x.IsPlaceholder()):
			l.cancelTimedOut(x)
			out.Cancelled = append(out.Cancelled, x)
		case x.Pending() || !x.IsPlaceholder() || l.Ending(x):
		case !l.p.Preempting(x):
			out.Released = append(out.Released, x)
			l.TimeOut(x)
		case failed: // its release is ordered already
			l.TimeOut(x)
		}
	}
	l.p.onAllocationRemoved(a, false, now)
	return out, true
}

// expireVirtual ends the virtual placeholders of a: its members do not wait for each other any more. If the gang is
// Hard and failed takes its application with it, its asks are cancelled, and returned in key order (GAN-22).
func (l GangLedger) expireVirtual(a *Application, failed bool) (cancelled []*Allocation) {
	if l.p.Reservations().Gang() == a {
		l.p.Reservations().ClearTogether(ReservationTimedOut)
	}
	l.count(a, func(g *gangs.Gang) bool {
		g.TimeOutVirtual()
		return true
	})
	l.updateComplete(a)
	if failed && a.gang.Style() == gangs.Hard {
		for _, x := range a.Allocations() {
			if x.Pending() {
				l.p.removeAsk(x)
				cancelled = append(cancelled, x)
			}
		}
	}
	l.p.reindex(a)
	return cancelled
}

// cancelTimedOut removes a pending ask. A placeholder is counted as timed out.
func (l GangLedger) cancelTimedOut(x *Allocation) {
	if x.IsPlaceholder() {
		l.p.gangs.ending[x] = endingPlaceholder{timedOut: true}
		x.app.gang.CountEnding(1)
		l.countTimeOut(x)
	}
	l.p.removeAsk(x)
}

func (l GangLedger) countTimeOut(y *Allocation) {
	l.count(y.app, func(g *gangs.Gang) bool { return g.TimeOut(y.ask.TaskGroup()) })
}

// onPlaceholdersEnded ends the states that wait for placeholders to end: Resuming when all releases that were ordered
// are confirmed, Failing when nothing is allocated (GAN-10, OPS-7).
func (l GangLedger) onPlaceholdersEnded(a *Application, now time.Time) {
	switch {
	case a.state == lifecycle.Resuming && a.gang.Ending() == 0:
		a.gang.Resume()
		l.p.handleEvent(a, lifecycle.RunApplication, lifecycle.ReasonPlaceholdersEnded, now)
	case a.state == lifecycle.Failing && a.boundCount == 0:
		reason := lifecycle.ReasonPlaceholdersEnded
		if a.cancelled {
			reason = lifecycle.ReasonCancelled
		}
		l.p.complete(a, reason, now)
	}
}
