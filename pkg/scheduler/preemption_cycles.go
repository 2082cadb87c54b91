package scheduler

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
)

// The core records which leaf preempted allocations of which; package preemption detects cycles in that and
// keeps the cool-downs (PRE-103 to PRE-108).

// endCoolDowns applies the configuration of cycle detection and ends the cool-downs that are over
// (PRE-106). It precedes all decisions. Ask groups of the leaves concerned are evaluated at once. A
// configuration that was replaced before a call has no effect.
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

// recordPreemption records that x preempted victims.
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

// recordNominationEnd records that x is no longer nominated. A nomination that was given up or timed out
// counts as resources moved back.
func (c *Core) recordNominationEnd(x *objects.Allocation, end NominationState, now time.Time) {
	leaves := c.victimLeaves[x]
	if delete(c.victimLeaves, x); len(leaves) > 0 && (end == NominationGivenUp || end == NominationTimedOut) {
		c.emitCycles(c.cycles.RecordGiveUp(x.Application().Queue().Path(), leaves, now), now)
	}
}

// emitCycles emits EventPreemptionCycle for each cycle (PRE-107).
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

// checkVictimLeaves reports entries of victimLeaves whose ask is not nominated.
func (c *Core) checkVictimLeaves() (err error) {
	for x := range c.victimLeaves {
		if c.part.Nomination(x) == nil {
			err = errors.Join(err, fmt.Errorf("victims are recorded for %s, which is not nominated", x.Key()))
		}
	}
	return err
}

// changeCount grows with each change that may make an ask able to preempt.
func (c *Core) changeCount() uint64 { return c.part.PreemptionGeneration() + c.cycles.EndedCoolDowns() }

// nextCoolDownEnd is when endCoolDowns next has work. Work that is due already is left to the next
// Schedule.
func (c *Core) nextCoolDownEnd() (time.Time, bool) {
	at, ok := c.cycles.NextCoolDownEnd()
	return at, ok && at.After(c.servedUntil)
}
