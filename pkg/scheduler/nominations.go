package scheduler

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// Nominations end: by being placed, by losing the node or the ask, by leading nowhere, and
// by time.

// endOverdue ends what has lasted longer than preemption waits: counting on those who were
// told to leave, and nominations. It goes before all decisions, for these may never end in a
// busy cluster.
func (c *Core) endOverdue(now time.Time) {
	c.noteOverdue(c.part.TakeOverdue(now))
	for x := c.part.OverdueNominee(now); x != nil; x = c.part.OverdueNominee(now) {
		c.ledger.lose(x, Nomination{State: NominationTimedOut, Until: now})
		c.giveUp(x, now)
		c.noteLapsed(NominationTimedOut, Party{}, "", now)
	}
}

// giveUp ends the nomination of x, of which the ledger has been told. Whoever was led astray does not look again at once: it
// might be led astray again, and others would have to leave each time.
func (c *Core) giveUp(x *objects.Allocation, now time.Time) {
	c.takeFresh() // its class may be among them
	class := x.Class()
	if c.unnominated(class) == nil {
		class.Notice()
		c.eager = slices.DeleteFunc(c.eager, func(e *evaluation) bool { return e.class == class })
		c.backOff.add(&evaluation{class: class, at: now, rights: -1, strayed: true}, time.Time{})
	}
	c.part.Unnominate(x)
}

// patienceEnds is when endOverdue may next have something to do, if it is not due already:
// then the next Schedule does it.
func (c *Core) patienceEnds() (time.Time, bool) {
	at, ok := c.part.PatienceEnds()
	return at, ok && at.After(c.served)
}
