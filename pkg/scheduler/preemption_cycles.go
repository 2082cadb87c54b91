package scheduler

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
)

// Room that goes round: preemption that leads to preemption, or to nothing, again and again
// (priority.md P10). The core says what moved; what comes of it is known in package preemption.

// endCoolDowns puts the rule of the configuration in force, and ends the pauses that are over.
// It goes before all decisions. Groups of asks in leaves that were paused are evaluated at once. A configuration that was taken back before then leaves no trace.
func (c *Core) endCoolDowns(now time.Time) {
	for _, p := range c.cycles.SetConfig(c.part.Config().Churn, now) {
		c.emit(Event{Kind: EventCoolDownEnded, Cycle: cycleOfCoolDown(p), Since: p.Since})
		c.toEvaluate = append(c.toEvaluate, c.backOff.popMatching(func(group *objects.AskGroup) bool {
			leaf := group.Application().Queue().Path()
			return leaf == p.A || leaf == p.B
		})...)
	}
}

func cycleOfCoolDown(p preemption.CoolDown) preemption.Cycle {
	if p.A == p.B {
		return preemption.Cycle{p.A}
	}
	return preemption.Cycle{p.A, p.B}
}

// recordPreemption says that x has taken the place of victims.
func (c *Core) recordPreemption(x *objects.Allocation, victims []*objects.Allocation, now time.Time) {
	var leaves []objects.QueuePath
	for _, y := range victims {
		if leaf := y.Application().Queue().Path(); !slices.Contains(leaves, leaf) {
			leaves = append(leaves, leaf)
		}
	}
	if len(leaves) == 0 {
		return
	}
	c.victimLeaves[x] = leaves
	c.emitCycles(c.cycles.RecordPreemption(x.Application().Queue().Path(), leaves, now), now)
}

// recordNominationEnd says that x waits no more, and whether it gave up, so that others left for
// nothing.
func (c *Core) recordNominationEnd(x *objects.Allocation, end NominationState, now time.Time) {
	leaves := c.victimLeaves[x]
	if delete(c.victimLeaves, x); len(leaves) > 0 && (end == NominationGivenUp || end == NominationTimedOut) {
		c.emitCycles(c.cycles.RecordGiveUp(x.Application().Queue().Path(), leaves, now), now)
	}
}

func (c *Core) emitCycles(closed []preemption.Cycle, now time.Time) {
	conf := c.part.Config().Churn
	for _, cycle := range closed {
		n := Event{Kind: EventPreemptionCycle, Cycle: cycle}
		if conf.CircuitBreaker {
			n.Until = now.Add(conf.CoolDown)
		}
		c.emit(n)
	}
}

// checkVictimLeaves reports a nominee of churn that waits for nothing.
func (c *Core) checkVictimLeaves() (err error) {
	for x := range c.victimLeaves {
		if c.part.Nomination(x) == nil {
			err = errors.Join(err, fmt.Errorf("victims are recorded for %s, which is not nominated", x.Key()))
		}
	}
	return err
}

// changeCount grows with every change that could let an ask preempt that could not before.
func (c *Core) changeCount() uint64 { return c.part.PreemptionGeneration() + c.cycles.EndedCoolDowns() }

// nextCoolDownEnd is when endCoolDowns may next have something to do, if it is not due already.
func (c *Core) nextCoolDownEnd() (time.Time, bool) {
	at, ok := c.cycles.NextCoolDownEnd()
	return at, ok && at.After(c.servedUntil)
}
