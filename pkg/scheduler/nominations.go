package scheduler

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// A nomination ends when the ask is placed, when the node or the ask is lost, when it is given up, and when
// it times out (PRE-79 to PRE-81).

// endTimedOutNominations ends what has lasted for the nomination timeout: nominations, and waiting for
// victims, which are then overdue (PRE-81, PRE-87). It precedes all decisions, because in a busy cluster
// these may never end.
func (c *Core) endTimedOutNominations(now time.Time) {
	c.emitOverdue(c.part.TakeOverdueReleases(now))
	for x := c.part.OverdueNominee(now); x != nil; x = c.part.OverdueNominee(now) {
		c.preemptionLog.endNomination(x, Nomination{State: NominationTimedOut, EndedAt: now})
		c.giveUpNomination(x, now)
		c.emitEndedNominations(NominationTimedOut, AllocationRef{}, "", now)
	}
}

// giveUpNomination ends the nomination of x; the caller must have logged the end in the preemption history.
// The group of x backs off if all of its asks were nominated: evaluated at once it could preempt for the same
// node again, without a result each time (PRE-80).
func (c *Core) giveUpNomination(x *objects.Allocation, now time.Time) {
	c.addNewGroups() // the group of x may be among them
	group := x.AskGroup()
	if c.firstWithoutNomination(group) == nil {
		group.MarkPreemptorListed()
		c.toEvaluate = slices.DeleteFunc(c.toEvaluate, func(e *evaluation) bool { return e.group == group })
		c.backOff.add(&evaluation{group: group, evaluatedAt: now, reasons: -1, nominationGivenUp: true}, time.Time{})
	}
	c.part.ClearNomination(x)
}

// nextNominationTimeout is when endTimedOutNominations next has work. Work that is due already is left to
// the next Schedule.
func (c *Core) nextNominationTimeout() (time.Time, bool) {
	at, ok := c.part.NextPreemptionTimeout()
	return at, ok && at.After(c.servedUntil)
}
