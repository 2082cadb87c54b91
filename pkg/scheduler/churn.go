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

// endPauses puts the rule of the configuration in force, and ends the pauses that are over.
// It goes before all decisions. Groups of asks in leaves that were paused are evaluated at once. A configuration that was taken back before then leaves no trace.
func (c *Core) endPauses(now time.Time) {
	for _, p := range c.churn.Use(c.part.Config().Churn, now) {
		c.emit(Noted{What: NotePauseEnded, Cycle: cycleOf(p), Since: p.Since})
		c.eager = append(c.eager, c.backOff.takeOf(func(class *objects.Class) bool {
			leaf := class.Application().Queue().Path()
			return leaf == p.A || leaf == p.B
		})...)
	}
}

func cycleOf(p preemption.Pause) preemption.Cycle {
	if p.A == p.B {
		return preemption.Cycle{p.A}
	}
	return preemption.Cycle{p.A, p.B}
}

// noteTook says that x has taken the place of victims.
func (c *Core) noteTook(x *objects.Allocation, victims []*objects.Allocation, now time.Time) {
	var from []objects.QueuePath
	for _, y := range victims {
		if leaf := y.Application().Queue().Path(); !slices.Contains(from, leaf) {
			from = append(from, leaf)
		}
	}
	if len(from) == 0 {
		return
	}
	c.gaveWay[x] = from
	c.noteChurn(c.churn.Took(x.Application().Queue().Path(), from, now), now)
}

// noteLeftWaiting says that x waits no more, and whether it gave up, so that others left for
// nothing.
func (c *Core) noteLeftWaiting(x *objects.Allocation, end NominationState, now time.Time) {
	from := c.gaveWay[x]
	if delete(c.gaveWay, x); len(from) > 0 && (end == NominationGivenUp || end == NominationTimedOut) {
		c.noteChurn(c.churn.GaveBack(x.Application().Queue().Path(), from, now), now)
	}
}

func (c *Core) noteChurn(closed []preemption.Cycle, now time.Time) {
	rule := c.part.Config().Churn
	for _, cycle := range closed {
		n := Noted{What: NoteChurn, Cycle: cycle}
		if rule.Breaker {
			n.Until = now.Add(rule.Pause)
		}
		c.emit(n)
	}
}

// checkGaveWay reports a nominee of churn that waits for nothing.
func (c *Core) checkGaveWay() (err error) {
	for x := range c.gaveWay {
		if c.part.Nomination(x) == nil {
			err = errors.Join(err, fmt.Errorf("others gave way to %s, which waits for no node", x.Key()))
		}
	}
	return err
}

// changes grows with every change that could let an ask preempt that could not before.
func (c *Core) changes() uint64 { return c.part.Changes() + c.churn.Ended() }

// pausesEnd is when endPauses may next have something to do, if it is not due already.
func (c *Core) pausesEnd() (time.Time, bool) {
	at, ok := c.churn.NextEnd()
	return at, ok && at.After(c.served)
}
