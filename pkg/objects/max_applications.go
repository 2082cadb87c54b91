package objects

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/limits"
)

// A queue, a user and a group may be allowed so many running applications
// (behaviour.md 3.8, 8.5). An application that has not started may then be kept waiting
// although there is room for its asks. Masks know this like any other reason: the asks of
// an application that has not started have slots of their own, and a queue with no
// application to spare offers none of these. So nothing needs to be done for the
// thousands that wait when the last place is taken, or is free again.
//
// A queue counts an application while it is Running. A limit of a user or a group counts it from
// when it is given something: one that had nothing left and asks again is Running, but takes none
// of the applications of its user until then, and needs one (ADR 40).

// maxAppsCheck is what an application needs before it may be given anything.
type maxAppsCheck uint8

const (
	maxAppsUnchecked       maxAppsCheck = iota // nothing
	maxAppsQueuesAndLimits                     // to be one of the applications that its queues and its limits allow
	maxAppsLimitsOnly                          // to be one of those that its limits allow: its queues count it already
)

// maxAppsCheck is what a needs now.
func (a *Application) maxAppsCheck() maxAppsCheck {
	switch {
	case !a.countedRunning:
		return maxAppsQueuesAndLimits
	case !a.countedInLimits:
		return maxAppsLimitsOnly
	}
	return maxAppsUnchecked
}

// updateRunning brings the numbers of running applications up to date, after the state of a
// changed or it was given something.
func (p *Partition) updateRunning(a *Application) {
	runs := a.state == Running
	charged := runs && !a.restarting
	if runs == a.countedRunning && charged == a.countedInLimits {
		return
	}
	p.preemptionGeneration++
	if more := boolToInt(runs) - boolToInt(a.countedRunning); more != 0 {
		a.countedRunning = runs
		for q := a.queue; q != nil; q = q.parent {
			q.running += more
			if q.policy.maxApplications > 0 {
				p.refitQueue(q)
			}
		}
	}
	if more := boolToInt(charged) - boolToInt(a.countedInLimits); more != 0 {
		a.countedInLimits = charged
		for _, s := range a.memberships {
			s.account.running += more
			p.recordAccountChange(s.account)
			if s.account.maxApplications > 0 {
				p.refitAccount(s.account)
			}
		}
	}
	if p.hasMaxApps {
		p.updateMaxAppsChecks(a)
		p.reindex(a)
	}
}

// atMaxApplications reports whether no further application may start in q, or below it.
func (q *Queue) atMaxApplications() bool {
	return q.policy.maxApplications > 0 && uint64(q.running) >= q.policy.maxApplications
}

// anyMaxApps reports whether there is a bound on running applications anywhere.
func (p *Partition) anyMaxApps() bool {
	for _, q := range p.queues {
		if q.hasMaxApplications() {
			return true
		}
	}
	return false
}

// hasMaxApplications reports whether q, or a limit in it, has a bound on running applications.
func (q *Queue) hasMaxApplications() bool {
	return q.policy.maxApplications > 0 || slices.ContainsFunc(q.conf.Limits, func(r limits.Limit) bool { return r.MaxApplications > 0 })
}

// updateMaxAppsChecks gives the classes of a the slots that they should have now.
func (p *Partition) updateMaxAppsChecks(a *Application) {
	for _, group := range a.askGroups.list {
		if p.setMaxAppsCheck(group, p.maxAppsCheckOf(a)) {
			a.askGroups.reindex(group)
		}
	}
}

// maxAppsCheckOf is the gate of a, where there is a bound on running applications at all.
func (p *Partition) maxAppsCheckOf(a *Application) maxAppsCheck {
	if !p.hasMaxApps {
		return maxAppsUnchecked
	}
	return a.maxAppsCheck()
}

// setMaxAppsCheck gives c the slot of its shape, or that of the shape behind a gate. It reports whether
// that is another one than before; c has to stand then.
func (p *Partition) setMaxAppsCheck(group *AskGroup, check maxAppsCheck) (changed bool) {
	if group.maxAppsCheck == check {
		return false
	}
	s, before := group.id.shape, group.maxAppsCheck
	group.maxAppsCheck = check
	if check != maxAppsUnchecked {
		if s.byMaxAppsCheck[check] == nil {
			s.byMaxAppsCheck[check] = &Shape{vector: s.vector, required: s.required, maxAppsCheck: check}
			if added := p.slots.assign(s.byMaxAppsCheck[check]); added != nil {
				p.addShapeToMasks(added)
			}
		}
		s.byMaxAppsCheck[check].refs++
	}
	group.entry.mask = group.slotShape().slotMask
	if before != maxAppsUnchecked {
		if s.byMaxAppsCheck[before].refs--; s.byMaxAppsCheck[before].refs == 0 {
			p.slots.release(s.byMaxAppsCheck[before])
			s.byMaxAppsCheck[before] = nil
		}
	}
	return true
}

// slotShape is the shape whose slot c has.
func (g *AskGroup) slotShape() *Shape {
	if g.maxAppsCheck != maxAppsUnchecked {
		return g.id.shape.byMaxAppsCheck[g.maxAppsCheck]
	}
	return g.id.shape
}

// Exact reports whether masks know c itself, and not only its band.
func (g *AskGroup) Exact() bool { return g.slotShape().Exact() }
