package scheduler

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/preemption"
)

// Schedule makes up to budget decisions and returns their effects (PRE-1, ORD-2, ORD-6, GAN-6, QUO-59,
// QUO-60, RES-2, RES-8).
// more: the budget, or the bound of victim searches, ended the run. The caller must pass times that do not
// decrease. While no RM listens it decides nothing (PRE-5, RMI-18).
func (c *Core) Schedule(now time.Time, budget int) (effects []Effect, more bool) {
	c.resetEffects()
	c.serveDeadlines(now)
	defer c.finishStep(now)
	c.recordFirstUse(now)
	if c.notListening {
		return c.effects, false
	}
	c.preemption.BeginRun(now)
	c.reservations.BeginRun(now)
	for ; budget > 0; budget-- {
		if c.preemption.EnforceQuota(now) {
			continue
		}
		c.part.RefreshShares() // nominations that ended change usage
		x, n := c.preemption.PlaceableNominee()
		if x == nil {
			x, n = c.reservations.Placeable(now)
		}
		if x == nil {
			if made := c.replacePlaceholders(now, budget); made > 0 {
				budget -= made - 1
				continue
			}
			x, n = c.decide(now)
		}
		if x == nil {
			found, more := c.preemption.Preempt(now)
			if c.reservations.ReportEnded(); !found && (more || !c.reservations.Search(now)) {
				if !more {
					c.reportWaiting()
				}
				return c.effects, more
			}
			continue
		}
		if err := c.part.Place(x, n, now); err != nil {
			// decide and Place read the same accounting; a contradiction is a bug here
			panic("scheduler: " + err.Error())
		}
		c.emitStateChanges()
		c.emit(Allocated{x.Ask(), n.ID()})
		c.preemption.RecordEnded(preemption.VictimEnd{}, now)
		c.reservations.ReportEnded()
	}
	return c.effects, true
}

// setListening records whether an RM receives effects. When one does again, the timeouts of preemption
// begin anew, because releases may not have reached it before (PRE-5, ORD-12).
func (c *Core) setListening(listening bool, now time.Time) {
	if c.notListening && listening {
		c.preemption.RestartTimeouts(now)
	}
	c.notListening = !listening
}

// Listening reports whether an RM receives effects; see SetListening.
func (c *Core) Listening() bool { return !c.notListening }
