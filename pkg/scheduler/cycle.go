package scheduler

import "time"

// Schedule decides up to budget things and returns them. more is true when the budget,
// not the work, ran out. Requires: now is not before that of the last call.
func (c *Core) Schedule(now time.Time, budget int) (effects []Effect, more bool) {
	c.forgetOut()
	c.serveDeadlines(now)
	defer c.settleUp(now)
	c.began(now)
	if c.unheard {
		return c.out, false
	}
	c.endPauses(now)
	c.endOverdue(now)
	for range budget {
		if c.enforceMax(now) {
			continue
		}
		c.part.Settle() // a nomination that ended may be news
		x, n := c.nominee()
		if x == nil {
			x, n = c.decide(now)
		}
		if x == nil {
			if found, more := c.preempt(now); !found {
				return c.out, more
			}
			continue
		}
		if err := c.part.Place(x, n, now); err != nil {
			// decide and Place look at the same books; disagreeing is a bug here.
			panic("scheduler: " + err.Error())
		}
		c.notePlaced(x, now)
		c.tellStates()
		c.emit(Allocated{x.Ask(), n.ID()})
		c.noteLapsed(NominationWaits, Party{}, "", now)
	}
	return c.out, true
}

// setListening notes whether the RM hears what is decided. Time-outs of preemption begin anew when
// it does again: it may not have been told before.
func (c *Core) setListening(listening bool, now time.Time) {
	if c.unheard && listening {
		c.part.RestartPatience(now)
	}
	c.unheard = !listening
}

// Listening reports whether the RM hears what is decided; see SetListening.
func (c *Core) Listening() bool { return !c.unheard }
