package whatif

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// request is an ask, from its submission to the end of its allocation.
type request struct {
	key         objects.AllocationKey
	app         objects.AppID
	placeholder bool
	reported    bool // it ran already when the resource manager reported it, and never waited
	rejected    bool
	lost        bool // it ended because its node was removed
	amounts     resources.Amounts

	submitted time.Time
	before    int       // requests with the key and the time of submission before this one
	started   time.Time // zero: it was never placed
	releasing time.Time // the scheduler asked the resource manager to end it; zero: it did not
	reason    scheduler.Termination
	ended     time.Time // zero: it has not ended
}

func (r *request) pending() bool { return r.started.IsZero() && r.ended.IsZero() && !r.rejected }
func (r *request) bound() bool   { return !r.started.IsZero() && r.ended.IsZero() }

// sameState reports whether a request of the other run is in the same state.
func (r *request) sameState(x *request) bool {
	return r.started.Equal(x.started) && r.releasing.Equal(x.releasing) && r.ended.IsZero() == x.ended.IsZero() &&
		r.rejected == x.rejected
}

// preempted reports whether it was chosen as a victim.
func (r *request) preempted() bool {
	return !r.releasing.IsZero() && r.reason == scheduler.PreemptedByScheduler
}

// tracker keeps what became of each ask of a run, from its commands and effects.
type tracker struct {
	all     []*request
	last    map[objects.AllocationKey]*request // the last with a key
	apps    map[objects.AppID]*application
	live    map[objects.AppID]map[*request]bool // requests that have not ended
	node    bool                                // the command that is applied removes a node
	emptied []objects.AppID                     // of applications whose last request has ended since this was emptied
}

// application tracks what became of the application with an ID; the ID may be used again.
type application struct {
	queue     objects.QueuePath // empty: it was not accepted
	user      string
	submitted int       // requests
	lastEnd   time.Time // of a request; zero: none has ended
	removals  []removal
}

// removal records that the resource manager removed an application.
type removal struct {
	at      time.Time
	lastEnd time.Time // of its requests
	all     int       // requests that the ID had until then
	killed  bool      // some of them had not ended
}

func newTracker() *tracker {
	return &tracker{last: map[objects.AllocationKey]*request{}, apps: map[objects.AppID]*application{},
		live: map[objects.AppID]map[*request]bool{}}
}

// application returns the entry of an ID, and adds it if it is unknown.
func (t *tracker) application(id objects.AppID) *application {
	a := t.apps[id]
	if a == nil {
		a = &application{}
		t.apps[id] = a
	}
	return a
}

// command notes a command before it is applied.
func (t *tracker) command(cmd scheduler.Command, at time.Time) {
	_, t.node = cmd.(scheduler.RemoveNode)
	switch c := cmd.(type) {
	case scheduler.AddApplication:
		t.application(c.App).user = c.User.Name
	case scheduler.RemoveApplication:
		a := t.application(c.App)
		a.removals = append(a.removals, removal{at, a.lastEnd, a.submitted, len(t.live[c.App]) > 0})
	case scheduler.SubmitAsk:
		t.submit(c.Ask, at)
	case scheduler.SubmitAskWithClass:
		t.submit(c.Ask, at)
	case scheduler.ReportAllocation:
		if r := t.last[c.Ask.Key]; r == nil || !r.pending() && !r.bound() {
			t.add(c.Ask, at).reported = true
		}
	case scheduler.Release:
		t.release(c, at)
	}
}

func (t *tracker) submit(ask *objects.Ask, at time.Time) {
	switch r := t.last[ask.Key]; {
	case r == nil || !r.pending() && !r.bound():
		t.add(ask, at)
	case r.pending():
		r.amounts = ask.Amounts
	}
}

func (t *tracker) add(ask *objects.Ask, at time.Time) *request {
	r := &request{key: ask.Key, app: ask.App, placeholder: ask.Placeholder, amounts: ask.Amounts, submitted: at}
	if last := t.last[ask.Key]; last != nil && last.submitted.Equal(at) {
		r.before = last.before + 1
	}
	t.all = append(t.all, r)
	t.last[ask.Key] = r
	if t.live[ask.App] == nil {
		t.live[ask.App] = map[*request]bool{}
	}
	t.live[ask.App][r] = true
	t.application(ask.App).submitted++
	return r
}

func (t *tracker) end(r *request, at time.Time) {
	if r != nil && r.ended.IsZero() {
		r.ended = at
		t.application(r.app).lastEnd = at
		delete(t.live[r.app], r)
		if len(t.live[r.app]) == 0 {
			t.emptied = append(t.emptied, r.app)
		}
	}
}

// release notes what has no effect: a confirmation, and the end of a pending ask.
func (t *tracker) release(c scheduler.Release, at time.Time) {
	if c.Key == "" {
		if c.Scope != scheduler.OnlyAllocations {
			for r := range t.live[c.App] {
				if r.pending() {
					t.end(r, at)
				}
			}
		}
		return
	}
	r := t.last[c.Key]
	switch {
	case r == nil:
	case r.pending() && c.Scope != scheduler.OnlyAllocations, r.bound() && !r.releasing.IsZero() &&
		c.Scope != scheduler.OnlyAsks:
		t.end(r, at)
	}
}

// effects notes what came of a command or of decisions.
func (t *tracker) effects(effects []scheduler.Effect, at time.Time) {
	for _, e := range effects {
		switch e := e.(type) {
		case scheduler.ApplicationAccepted:
			t.application(e.App).queue = e.Queue
		case scheduler.AskRejected:
			if r := t.last[e.Key]; r != nil && r.pending() {
				r.rejected = true
				t.end(r, at)
			}
		case scheduler.Allocated:
			if r := t.last[e.Ask.Key]; r != nil && r.pending() {
				r.started = at
			}
		case scheduler.Released:
			t.released(e, at)
		case scheduler.OperatorActed:
			if e.Action == scheduler.MoveApplication {
				t.application(e.App).queue = e.Queue
			}
		case scheduler.AskTimedOut:
			t.end(t.last[e.Key], at)
		case scheduler.AskCancelled:
			t.end(t.last[e.Key], at)
		}
	}
}

func (t *tracker) released(e scheduler.Released, at time.Time) {
	r := t.last[e.Key]
	if r == nil || !r.ended.IsZero() {
		return
	}
	switch e.Type {
	case scheduler.PreemptedByScheduler, scheduler.TimedOut, scheduler.PlaceholderReplaced:
		if r.releasing.IsZero() && r.bound() {
			r.releasing, r.reason = at, e.Type // it holds what it has until the resource manager confirms
			return
		}
	}
	r.lost = t.node
	t.end(r, at)
}
