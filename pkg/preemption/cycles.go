package preemption

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// The core records which leaf preempted allocations of which; package preemption detects cycles in that and
// keeps the cool-downs (PRE-103 to PRE-108).

// endCoolDowns applies the configuration of cycle detection and ends the cool-downs that are over (PRE-106). It
// precedes all decisions. Ask groups of the affected leaves are evaluated at once. A configuration that was replaced
// before a call has no effect.
func (eng *Engine) endCoolDowns(now time.Time) {
	for _, p := range eng.cycles.SetConfig(eng.part.Config().Churn, now) {
		eng.host.OnCoolDownEnded(p)
		eng.toEvaluate = append(eng.toEvaluate, eng.backOff.popMatching(func(group *objects.AskGroup) bool {
			leaf := group.Application().Queue().Path()
			return leaf == p.A || leaf == p.B
		})...)
	}
}

// recordPreemption records that x preempted victims.
func (eng *Engine) recordPreemption(x *objects.Allocation, victims []*objects.Allocation, now time.Time) {
	var leaves []objects.QueuePath
	for _, y := range victims {
		if leaf := y.Application().Queue().Path(); !slices.Contains(leaves, leaf) {
			leaves = append(leaves, leaf)
		}
	}
	if len(leaves) == 0 {
		return
	}
	eng.victimLeaves[x] = leaves
	eng.reportCycles(eng.cycles.RecordPreemption(x.Application().Queue().Path(), leaves, now), now)
}

// recordNominationEnd records that x is no longer nominated. A nomination that was given up or timed out
// counts as resources moved back.
func (eng *Engine) recordNominationEnd(x *objects.Allocation, end NominationState, now time.Time) {
	leaves := eng.victimLeaves[x]
	delete(eng.victimLeaves, x)
	if len(leaves) > 0 && (end == NominationGivenUp || end == NominationTimedOut) {
		eng.reportCycles(eng.cycles.RecordGiveUp(x.Application().Queue().Path(), leaves, now), now)
	}
}

// reportCycles reports each cycle (PRE-107).
func (eng *Engine) reportCycles(closed []Cycle, now time.Time) {
	conf := eng.part.Config().Churn
	for _, cycle := range closed {
		until := time.Time{}
		if conf.CircuitBreaker {
			until = now.Add(conf.CoolDown)
		}
		eng.host.OnCycle(cycle, until)
	}
}

// checkVictimLeaves reports entries of victimLeaves whose ask is not nominated.
func (eng *Engine) checkVictimLeaves() (err error) {
	for x := range eng.victimLeaves {
		if eng.part.Nomination(x) == nil {
			err = errors.Join(err, fmt.Errorf("victims are recorded for %s, which is not nominated", x.Key()))
		}
	}
	return err
}

// changeCount grows with each change that may make an ask able to preempt.
func (eng *Engine) changeCount() uint64 {
	return eng.changes.generation + eng.cycles.EndedCoolDowns()
}

// nextCoolDownEnd returns the next time at which endCoolDowns has work. Work that is due already is left to the next
// Schedule.
func (eng *Engine) nextCoolDownEnd() (time.Time, bool) {
	return eng.cycles.NextCoolDownEnd(eng.servedUntil)
}
