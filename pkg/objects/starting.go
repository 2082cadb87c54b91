package objects

// A queue, a user and a group may be allowed so many running applications
// (behaviour.md 3.8, 8.5). An application that has not started may then be kept waiting
// although there is room for its asks. Masks know this like any other reason: the asks of
// an application that has not started have slots of their own, and a queue with no
// application to spare offers none of these. So nothing needs to be done for the
// thousands that wait when the last place is taken, or is free again.

// starting reports whether a needs a place among the running applications before it may
// be given anything. One that was running once does not (behaviour.md 3.8).
func (a *Application) starting() bool { return a.state == New || a.state == Accepted }

// recount brings the numbers of running applications up to date, after the state of a
// changed.
func (p *Partition) recount(a *Application) {
	runs := a.state == Running
	if runs == a.counted {
		return
	}
	a.counted = runs
	p.changes++
	more := 1
	if !runs {
		more = -1
	}
	for q := a.queue; q != nil; q = q.parent {
		q.running += more
		if q.rule.most > 0 {
			p.refit(q)
		}
	}
	for _, s := range a.seats {
		s.account.running += more
		p.changedAccount(s.account)
		if s.account.most > 0 {
			p.refitAccount(s.account)
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
		if q.rule.most > 0 {
			return true
		}
		for _, rule := range q.conf.Limits {
			if rule.MaxApplications > 0 {
				return true
			}
		}
	}
	return false
}

// dressAll gives the classes of a the slots that they should have now.
func (p *Partition) dressAll(a *Application) {
	for _, c := range a.classes.list {
		if p.dress(c, p.gated && a.starting()) {
			a.classes.stand(c)
		}
	}
}

// dress gives c the slot of its shape, or that of the shape in an application that has not
// started. It reports whether that is another one than before; c has to stand then.
func (p *Partition) dress(c *Class, starting bool) (changed bool) {
	if c.starting == starting {
		return false
	}
	c.starting = starting
	s := c.id.shape
	if starting {
		if s.start == nil {
			s.start = &Shape{vector: s.vector, required: s.required, starting: true}
			if fresh := p.slots.take(s.start); fresh != nil {
				p.introduce(fresh)
			}
		}
		s.start.users++
	}
	c.turn.can = c.shown().only
	if !starting {
		if s.start.users--; s.start.users == 0 {
			p.slots.giveBack(s.start)
			s.start = nil
		}
	}
	return true
}

// shown is the shape whose slot c has.
func (c *Class) shown() *Shape {
	if c.starting {
		return c.id.shape.start
	}
	return c.id.shape
}

// Exact reports whether masks know c itself, and not only its band.
func (c *Class) Exact() bool { return c.shown().Exact() }
