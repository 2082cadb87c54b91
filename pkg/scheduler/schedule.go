package scheduler

import (
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/affinity"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
)

// Schedule makes up to budget decisions and returns their effects (PRE-1, ORD-2, ORD-6, GAN-6, QUO-59,
// QUO-60, RES-2, RES-8).
// more: the budget, or the bound of victim searches, ended the run. The caller must pass times that do not
// decrease. While no RM listens it decides nothing (PRE-5, RMI-18).
//
// Most decisions are routine: nothing that precedes the placement of the first feasible ask can have work, which
// routineAt knows from the last decision that examined all of it. They examine none of it, because the code
// of all that is not needed would take longer to fetch than the decision takes.
func (c *Core) Schedule(now time.Time, budget int) (effects []Effect, more bool) {
	c.resetEffects()
	routine := c.routineAt(now)
	if !routine {
		c.beginRun(now)
		if c.notListening {
			c.reservations.ReportEnded() // of asks that ended with their gang
			c.finishStep(now)
			return c.effects, false
		}
		if !c.runContinues { // GAN-21
			c.gangs.ExpireRefusals()
		}
	}
	c.runContinues = false
	for budget > 0 {
		if routine {
			if x, n := c.decide(now); x != nil {
				c.place(x, n, now)
				budget--
				if c.part.Routine() && !c.retryDue() {
					continue
				}
			}
			routine, c.gangPlan = false, gangPlan{} // a gang is not placed by a routine decision
			c.beginRun(now)
			continue
		}
		made, more := c.decideAll(now, budget)
		if made == 0 {
			c.endRun(now)
			return c.effects, more
		}
		budget -= made
	}
	if !routine {
		c.endRun(now)
	}
	c.runContinues = true
	return c.effects, true
}

// routineAt reports whether decisions at now are routine. The deadline is looked up here and not at the end of the last
// run, because a command usually comes between, after which it is not needed.
func (c *Core) routineAt(now time.Time) bool {
	if c.routine && c.routineUntil.IsZero() {
		var some bool
		c.routineUntil, some = c.NextDeadline()
		if !some {
			c.routineUntil = now.Add(maxRoutine)
		}
	}
	return c.routine && now.Before(c.routineUntil) && !c.runTimes.Advance(now) && !c.fairness.Advance(now)
}

// beginRun does what precedes the decisions of a run that is not routine.
func (c *Core) beginRun(now time.Time) {
	c.routine = false
	c.quotas.Refresh(now)
	c.serveDeadlines(now)
	c.recordFirstUse(now)
	if !c.notListening {
		c.runTimes.EndOverdue(c.releaseOverrun)
		c.preemption.BeginRun(now)
		c.reservations.BeginRun(now)
	}
}

// endRun finishes such a run, and examines whether the next decisions are routine.
func (c *Core) endRun(now time.Time) {
	c.finishStep(now)
	c.routine = c.preemption.Idle() && c.gangs.Idle() && c.reservations.Idle() && !c.drainWaits && !c.retryDue() &&
		!c.quotas.Stale() && !c.fairness.Stale() && c.part.BeginRoutine()
	c.routineUntil = time.Time{}
}

// retryDue reports whether a node may be allowed to an ask that waits because nodes were refused to it.
func (c *Core) retryDue() bool {
	return c.nodes.Opened() && (objects.AnyParked(c.part) || c.gangs.AnyUnavailable())
}

// Refresh updates what decisions and dry runs read after changes: shares, and which asks are schedulable. They call it.
func (c *Core) Refresh() {
	c.part.RefreshShares()
	c.nodes.Refresh()
}

// maxRoutine is for how long decisions are routine if there is no deadline.
const maxRoutine = time.Minute

// decideAll makes decisions in the order of ORD-6, usually one. made is how many, at most budget; 0: there is nothing
// to decide or, with more, the bound of victim searches is reached. A gang that is placed together may exceed the
// budget.
func (c *Core) decideAll(now time.Time, budget int) (made int, more bool) {
	if c.preemption.EnforceQuota(now) {
		return 1, false
	}
	if c.drainNodes(now) {
		return 1, false
	}
	c.Refresh() // nominations that ended change usage
	c.fairness.Refresh()
	x, n := c.preemption.PlaceableNominee()
	if x == nil {
		x, n = c.reservations.Placeable(now)
		if x != nil && c.part.Reservations().Together(x) {
			return c.placeReservedGang(now), false
		}
	}
	if x == nil && c.backfill.Release() {
		return 1, false
	}
	if x == nil {
		if made := c.replacePlaceholders(now, budget); made > 0 {
			return made, false
		}
		c.gangs.RetryRefused()
		x, n = c.decide(now)
		if len(c.gangPlan.members) > 0 {
			return c.placeGang(now), false
		}
	}
	if x != nil {
		c.place(x, n, now)
		c.preemption.RecordEnded(preemption.VictimEnd{}, now)
		c.reservations.ReportEnded()
		return 1, false
	}
	if c.backfillOne(now) {
		return 1, false
	}
	found, more := c.preemption.Preempt(now)
	c.reservations.ReportEnded()
	if found || !more && c.reservations.Search(now) {
		return 1, false
	}
	if !more {
		c.reportWaiting(now)
	}
	return 0, more
}

// place binds x to n, and emits the placement.
func (c *Core) place(x *objects.Allocation, n *objects.Node, now time.Time) {
	if refusal := c.nodes.For(x).Refusal(n); refusal != affinity.Allowed {
		panic(fmt.Sprintf("scheduler: place %s on %s: it is refused by other allocations (%d)", x.Key(), n.ID(), refusal))
	}
	if err := c.part.Place(x, n, now); err != nil {
		// decide and Place read the same accounting; a contradiction is a bug here
		panic("scheduler: " + err.Error())
	}
	c.emitStateChanges()
	c.emitAllocated(x.Ask(), n.ID())
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
