package twin

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// The life of an application (sheet 4.1 and 4.2), as far as nobody asks for gangs.

// past is an application that completed or was rejected.
type past struct {
	id    objects.AppID
	queue objects.QueuePath // where it was, or wanted to be
	state objects.State
	at    time.Time
	peak  resources.Amounts
}

// raise notes what an application holds, if it never held as much.
func (t *Twin) raise(a *app) {
	h, most := t.count().apps[a.id], a.peak.Map()
	for _, held := range []resources.Amounts{h.allocated, h.placeholders} {
		for name, n := range held.All() {
			most[name] = max(most[name], n)
		}
	}
	a.peak = resources.FromMap(most)
}

// enter notes that an application has entered a state. It is told with tellStates.
func (t *Twin) enter(a *app, s objects.State, why objects.Reason) {
	a.state, a.since, a.timeIsUp, a.again = s, t.now, false, false
	t.entries++
	a.entry = t.entries
	t.noteState(a.id, s, why)
}

func (t *Twin) noteState(id objects.AppID, s objects.State, why objects.Reason) {
	t.states = append(t.states, scheduler.ApplicationUpdated{App: id, State: s, At: t.now, Why: why})
}

func (t *Twin) tellStates() {
	t.out = append(t.out, t.states...)
	t.states = nil
}

// asked moves an application on that has asked for something.
func (t *Twin) asked(a *app) {
	switch a.state {
	case objects.New:
		t.enter(a, objects.Accepted, objects.AskedFirst)
	case objects.Completing:
		t.enter(a, objects.Running, objects.AskedAgain)
		a.again = true
	}
}

// end takes work off the list, and sees each time whether its application has anything
// left to do: nothing pending, nothing real that runs. Placeholders keep it from
// completing, unless it was something real that has ended.
func (t *Twin) end(gone func(*work) bool) []*work {
	out := byKey(filter(t.work, gone))
	for _, w := range out {
		t.work = slices.DeleteFunc(t.work, func(x *work) bool { return x == w })
		a := t.app(w.ask.App)
		h := t.count().apps[a.id]
		switch busy := len(h.asks) > 0 || !h.allocated.IsZero(); {
		case busy:
		case a.state == objects.Completing && a.timeIsUp && h.runs == 0:
			t.complete(a, objects.StayedIdle)
		case a.state != objects.Completing && (h.runs == 0 || w.node != "" && !w.ask.Placeholder):
			t.enter(a, objects.Completing, objects.WentIdle)
		}
	}
	return out
}

// complete lets an application end.
func (t *Twin) complete(a *app, why objects.Reason) {
	if a.state != objects.Completing {
		t.enter(a, objects.Completing, why)
	}
	t.enter(a, objects.Completed, why)
	t.apps = slices.DeleteFunc(t.apps, func(x *app) bool { return x == a })
	t.prune(t.root)
	t.completed = t.remember(t.completed, &past{a.id, a.leaf, objects.Completed, t.now, a.peak})
}

// remember adds to a list that must not get too long.
func (t *Twin) remember(list []*past, p *past) []*past {
	list = append(list, p)
	for len(list) > t.lifetimes.Ended {
		t.expire(list[0], objects.WasCrowdedOut)
		list = list[1:]
	}
	return list
}

// expire tells that p is forgotten, unless that would be taken for somebody else, or
// nobody was told of its end.
func (t *Twin) expire(p *past, why objects.Reason) {
	if t.app(p.id) == nil && p.state == objects.Completed {
		t.noteState(p.id, objects.Expired, why)
	}
}

// turnAway notes an application that was not let in. The last time counts.
func (t *Twin) turnAway(c scheduler.AddApplication) {
	t.rejected = slices.DeleteFunc(t.rejected, func(p *past) bool { return p.id == c.App })
	t.rejected = t.remember(t.rejected, &past{c.App, objects.QueuePath(c.Queue), objects.Rejected, t.now, resources.Amounts{}})
}

// passTime does what is due by now.
func (t *Twin) passTime() {
	due := filter(t.apps, func(a *app) bool {
		at, ok := t.completes(a)
		return ok && !t.now.Before(at)
	})
	slices.SortFunc(due, func(a, b *app) int { return cmp.Compare(a.entry, b.entry) })
	for _, a := range due {
		left := byKey(t.of(a.id))
		if len(left) == 0 {
			t.complete(a, objects.StayedIdle)
			continue
		}
		a.timeIsUp = true
		for _, w := range left {
			t.emit(scheduler.Released{
				Key: w.ask.Key, App: a.id, Type: scheduler.TimedOut,
				Message: fmt.Sprintf("the application %s is completing", a.id),
			})
		}
	}
	t.completed = t.forgetOld(t.completed, t.lifetimes.Completed)
	t.rejected = t.forgetOld(t.rejected, t.lifetimes.Rejected)
	t.tellStates()
}

func (t *Twin) forgetOld(list []*past, keep time.Duration) []*past {
	return filter(list, func(p *past) bool {
		old := !t.now.Before(p.at.Add(keep))
		if old {
			t.expire(p, objects.WasKeptLong)
		}
		return !old
	})
}

// completes is when an application completes by time alone, if it does.
func (t *Twin) completes(a *app) (time.Time, bool) {
	return a.since.Add(t.lifetimes.Completing), a.state == objects.Completing && !a.timeIsUp
}
