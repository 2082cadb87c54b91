package scheduler

import "time"

// Schedule decides up to budget things and returns them. more is true when the budget,
// not the work, ran out. Requires: now is not before that of the last call.
func (c *Core) Schedule(now time.Time, budget int) (effects []Effect, more bool) {
	c.resetEffects()
	c.serveDeadlines(now)
	defer c.finishStep(now)
	c.recordFirstUse(now)
	if c.notListening {
		return c.effects, false
	}
	c.endCoolDowns(now)
	c.endTimedOutNominations(now)
	for range budget {
		if c.enforceQuota(now) {
			continue
		}
		c.part.RefreshShares() // a nomination that ended may be news
		x, n := c.placeableNominee()
		if x == nil {
			x, n = c.decide(now)
		}
		if x == nil {
			if found, more := c.preempt(now); !found {
				return c.effects, more
			}
			continue
		}
		if err := c.part.Place(x, n, now); err != nil {
			// decide and Place look at the same books; disagreeing is a bug here.
			panic("scheduler: " + err.Error())
		}
		c.logPlaced(x, now)
		c.emitStateChanges()
		c.emit(Allocated{x.Ask(), n.ID()})
		c.emitEndedNominations(NominationWaiting, AllocationRef{}, "", now)
	}
	return c.effects, true
}

// setListening notes whether the RM hears what is decided. Time-outs of preemption begin anew when
// it does again: it may not have been told before.
func (c *Core) setListening(listening bool, now time.Time) {
	if c.notListening && listening {
		c.part.RestartPreemptionTimeouts(now)
	}
	c.notListening = !listening
}

// Listening reports whether the RM hears what is decided; see SetListening.
func (c *Core) Listening() bool { return !c.notListening }
