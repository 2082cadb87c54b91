package objects

import (
	"container/list"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// Nothing here reads a clock: the owner of the partition asks for the next deadline and calls
// Expire at that time (APP-12).

// lifecycle is what ends by time: applications that complete or ramp up, and the entries of the history.
type lifecycle struct {
	lifetimes  Lifetimes
	completing list.List // of completingSince, by deadline
	completed  history
	rejected   history
	ramping    []ramp // by the time of the first allocation
}

func newLifecycle(l Lifetimes) lifecycle {
	return lifecycle{
		lifetimes: l,
		completed: newHistory(l.Completed, l.MaxEnded, false), rejected: newHistory(l.Rejected, l.MaxEnded, true),
	}
}

// NextDeadline is the next time at which Expire has something to do. ok is false if there is none.
func (p *Partition) NextDeadline() (at time.Time, ok bool) {
	sooner := func(t time.Time, set bool) {
		if set && (!ok || t.Before(at)) {
			at, ok = t, true
		}
	}
	sooner(p.rampDue())
	sooner(p.completingDue())
	sooner(p.life.completed.nextExpiry())
	sooner(p.life.rejected.nextExpiry())
	sooner(p.journal.enforcement.nextDue(p.PreemptionGeneration()))
	return at, ok
}

// Expire does what is due at now: it ramps up and completes applications, removes entries from the
// history and collects queues for quota enforcement. It returns the placeholders of completing
// applications, which the RM should release (APP-10).
func (p *Partition) Expire(now time.Time) (unwanted []*Allocation) {
	p.rampUp(now)
	unwanted = p.completeDue(now)
	p.expireDue(&p.life.completed, now)
	p.expireDue(&p.life.rejected, now)
	p.journal.enforcement.collectDue(now)
	return unwanted
}

func (p *Partition) rampDue() (time.Time, bool) {
	if len(p.life.ramping) == 0 {
		return time.Time{}, false
	}
	return p.life.ramping[0].from.Add(policies.RampTime), true
}

func (p *Partition) rampUp(now time.Time) {
	for len(p.life.ramping) > 0 && !now.Before(p.life.ramping[0].from.Add(policies.RampTime)) {
		a, from := p.life.ramping[0].app, p.life.ramping[0].from
		p.life.ramping = p.life.ramping[1:]
		if p.apps[a.id] != a || a.rampedUp || a.allocationsMade == 0 || !a.firstAllocatedAt.Equal(from) {
			continue // removed, ramped up by allocations, or its first allocation was undone
		}
		a.rampedUp = true
		if a.reindex() {
			p.journal.firstStartingChanged(a)
		}
	}
}
