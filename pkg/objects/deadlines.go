package objects

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// Nothing here reads a clock: whoever owns the partition asks for the next deadline, and
// calls Expire when it has come.

// NextDeadline is when Expire next has something to do.
func (p *Partition) NextDeadline() (at time.Time, ok bool) {
	sooner := func(t time.Time, set bool) {
		if set && (!ok || t.Before(at)) {
			at, ok = t, true
		}
	}
	sooner(p.rampDue())
	sooner(p.completingDue())
	sooner(p.completed.nextExpiry())
	sooner(p.rejected.nextExpiry())
	sooner(p.enforcementDue())
	return at, ok
}

// Expire does what time brings: applications have ramped up, complete, and are forgotten,
// and queues are to be brought within their max.
// It returns the placeholders of those that complete, which the RM should take away.
func (p *Partition) Expire(now time.Time) (unwanted []*Allocation) {
	p.rampUp(now)
	unwanted = p.completeDue(now)
	p.expireDue(&p.completed, now)
	p.expireDue(&p.rejected, now)
	p.collectDue(now)
	return unwanted
}

func (p *Partition) rampDue() (time.Time, bool) {
	if len(p.ramping) == 0 {
		return time.Time{}, false
	}
	return p.ramping[0].from.Add(policies.RampTime), true
}

func (p *Partition) rampUp(now time.Time) {
	for len(p.ramping) > 0 && !now.Before(p.ramping[0].from.Add(policies.RampTime)) {
		a, from := p.ramping[0].app, p.ramping[0].from
		p.ramping = p.ramping[1:]
		if p.apps[a.id] != a || a.rampedUp || a.allocationsMade == 0 || !a.firstAllocatedAt.Equal(from) {
			continue // it went, was faster, or started over
		}
		a.rampedUp = true
		if a.reindex() {
			p.preemptionGeneration++
		}
	}
}
