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

// gate is what an application needs before it may be given anything.
type gate uint8

const (
	open        gate = iota // nothing
	startGate               // to be one of the applications that its queues and its limits allow
	restartGate             // to be one of those that its limits allow: its queues count it already
)

// gate is what a needs now.
func (a *Application) gate() gate {
	switch {
	case !a.counted:
		return startGate
	case !a.charged:
		return restartGate
	}
	return open
}

// recount brings the numbers of running applications up to date, after the state of a
// changed or it was given something.
func (p *Partition) recount(a *Application) {
	runs := a.state == Running
	charged := runs && !a.again
	if runs == a.counted && charged == a.charged {
		return
	}
	p.changes++
	if more := count(runs) - count(a.counted); more != 0 {
		a.counted = runs
		for q := a.queue; q != nil; q = q.parent {
			q.running += more
			if q.rule.most > 0 {
				p.refit(q)
			}
		}
	}
	if more := count(charged) - count(a.charged); more != 0 {
		a.charged = charged
		for _, s := range a.seats {
			s.account.running += more
			p.changedAccount(s.account)
			if s.account.most > 0 {
				p.refitAccount(s.account)
			}
		}
	}
	if p.gated {
		p.dressAll(a)
		p.stand(a)
	}
}

// full reports whether no further application may start in q, or below it.
func (q *Queue) full() bool { return q.rule.most > 0 && uint64(q.running) >= q.rule.most }

// isGated reports whether there is a bound on running applications anywhere.
func (p *Partition) isGated() bool {
	for _, q := range p.queues {
		if q.boundsApplications() {
			return true
		}
	}
	return false
}

// boundsApplications reports whether q, or a limit in it, has a bound on running applications.
func (q *Queue) boundsApplications() bool {
	return q.rule.most > 0 || slices.ContainsFunc(q.conf.Limits, func(r limits.Rule) bool { return r.MaxApplications > 0 })
}

// dressAll gives the classes of a the slots that they should have now.
func (p *Partition) dressAll(a *Application) {
	for _, c := range a.classes.list {
		if p.dress(c, p.gateOf(a)) {
			a.classes.stand(c)
		}
	}
}

// gateOf is the gate of a, where there is a bound on running applications at all.
func (p *Partition) gateOf(a *Application) gate {
	if !p.gated {
		return open
	}
	return a.gate()
}

// dress gives c the slot of its shape, or that of the shape behind a gate. It reports whether
// that is another one than before; c has to stand then.
func (p *Partition) dress(c *Class, g gate) (changed bool) {
	if c.gate == g {
		return false
	}
	s, before := c.id.shape, c.gate
	c.gate = g
	if g != open {
		if s.gated[g] == nil {
			s.gated[g] = &Shape{vector: s.vector, required: s.required, gate: g}
			if fresh := p.slots.take(s.gated[g]); fresh != nil {
				p.introduce(fresh)
			}
		}
		s.gated[g].users++
	}
	c.turn.can = c.shown().only
	if before != open {
		if s.gated[before].users--; s.gated[before].users == 0 {
			p.slots.giveBack(s.gated[before])
			s.gated[before] = nil
		}
	}
	return true
}

// shown is the shape whose slot c has.
func (c *Class) shown() *Shape {
	if c.gate != open {
		return c.id.shape.gated[c.gate]
	}
	return c.id.shape
}

// Exact reports whether masks know c itself, and not only its band.
func (c *Class) Exact() bool { return c.shown().Exact() }
