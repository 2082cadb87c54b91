package scheduler

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// Nominations end: by being placed, by losing the node or the ask, by leading nowhere, and
// by time.

// endTimedOutNominations ends what has lasted longer than preemption waits: counting on those who were
// told to leave, and nominations. It goes before all decisions, for these may never end in a
// busy cluster.
func (c *Core) endTimedOutNominations(now time.Time) {
	c.emitOverdue(c.part.TakeOverdueReleases(now))
	for x := c.part.OverdueNominee(now); x != nil; x = c.part.OverdueNominee(now) {
		c.preemptionLog.endNomination(x, Nomination{State: NominationTimedOut, EndedAt: now})
		c.giveUpNomination(x, now)
		c.emitEndedNominations(NominationTimedOut, AllocationRef{}, "", now)
	}
}

// giveUpNomination ends the nomination of x, of which the ledger has been told. Whoever was led astray does not look again at once: it
// might be led astray again, and others would have to leave each time.
func (c *Core) giveUpNomination(x *objects.Allocation, now time.Time) {
	c.addNewGroups() // its class may be among them
	group := x.AskGroup()
	if c.firstWithoutNomination(group) == nil {
		group.MarkPreemptorListed()
		c.toEvaluate = slices.DeleteFunc(c.toEvaluate, func(e *evaluation) bool { return e.group == group })
		c.backOff.add(&evaluation{group: group, evaluatedAt: now, reasons: -1, nominationGivenUp: true}, time.Time{})
	}
	c.part.ClearNomination(x)
}

// nextNominationTimeout is when endTimedOutNominations may next have something to do, if it is not due already:
// then the next Schedule does it.
func (c *Core) nextNominationTimeout() (time.Time, bool) {
	at, ok := c.part.NextPreemptionTimeout()
	return at, ok && at.After(c.servedUntil)
}
