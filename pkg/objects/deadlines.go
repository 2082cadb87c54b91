package objects

import (
	"container/list"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
)

// Nothing here reads a clock: the owner of the partition asks for the next deadline and calls
// Expire at that time (APP-12).

// deadlines keeps what ends by time: applications that complete or ramp up, and the entries of the history.
type deadlines struct {
	lifetimes  lifecycle.Lifetimes
	newApps    list.List // of deadlineSince, New applications by deadline; empty: Lifetimes.New is not set
	completing list.List // of deadlineSince, Completing applications by deadline
	completed  lifecycle.History
	rejected   lifecycle.History
	ramping    ramping
}

func newDeadlines(l lifecycle.Lifetimes) deadlines {
	return deadlines{
		lifetimes: l,
		completed: lifecycle.NewHistory(l.Completed, l.MaxEnded, false),
		rejected:  lifecycle.NewHistory(l.Rejected, l.MaxEnded, true),
	}
}

// NextDeadline is the next time at which Expire or ExpireNext has something to do. ok is false if there is none.
func (p *Partition) NextDeadline() (at time.Time, ok bool) {
	sooner := func(t time.Time, set bool) {
		if set && (!ok || t.Before(at)) {
			at, ok = t, true
		}
	}
	sooner(p.deadlines.ramping.due())
	sooner(p.deadlines.newDue())
	sooner(p.deadlines.completingDue())
	sooner(p.gangs.timers.due())
	sooner(p.deadlines.completed.NextExpiry())
	sooner(p.deadlines.rejected.NextExpiry())
	return at, ok
}

// Expire does what is due at now: it ramps up and completes applications, removes entries from the
// history. It returns the placeholders of completing
// applications, which the RM should release (APP-10).
func (p *Partition) Expire(now time.Time) (unwanted []*Allocation) {
	for _, a := range p.deadlines.ramping.takeDue(now) {
		a.rampedUp = true
		a.reindex()
		p.journal.post(Change{Kind: FirstStartingChanged, App: a}) // a itself may start, if no other may
	}
	unwanted = p.completeDue(now)
	p.expireRecords(p.deadlines.completed.Expire(now), lifecycle.ReasonRetentionOver, now)
	p.deadlines.rejected.Expire(now) // the RM does not get the states of rejected applications
	return unwanted
}
