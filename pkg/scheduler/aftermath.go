package scheduler

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
)

// What becomes of preemptions, for the ledger. Nominations end in many places; wherever
// one may have, the core says here what happened.

// Preemptions are the last ones of a partition.
type Preemptions struct {
	Made uint64       // since the partition was there
	Last []Preemption // the newest first

	// Strays are the confirmations, since the partition was there, that somebody unknown was
	// preempted. They changed nothing. A few are late or came twice; many are a fault of the RM.
	Strays uint64

	Pauses []preemption.Pause // that last, the oldest first
}

// Preemptions are those that are remembered.
func (c *Core) Preemptions() Preemptions {
	l := &c.ledger
	out := Preemptions{Made: l.made, Strays: l.strays, Last: make([]Preemption, len(l.ring)), Pauses: slices.Clone(c.churn.Pauses())}
	for i := range out.Last {
		out.Last[i] = l.back(i).view()
	}
	return out
}

// Preemption is the one of that number; ok is false when there is none, or it is forgotten.
func (c *Core) Preemption(number uint64) (r Preemption, ok bool) {
	l := &c.ledger
	if number == 0 || number > l.made || l.made-number >= uint64(len(l.ring)) {
		return r, false
	}
	return l.back(int(l.made - number)).view(), true
}

// back is the i-th from the newest.
func (l *victimLedger) back(i int) *followed {
	return l.ring[int((l.made-1-uint64(i))%uint64(l.most))]
}

// view copies what may still change.
func (f *followed) view() Preemption {
	r := f.Preemption
	r.Victims = slices.Clone(r.Victims)
	return r
}

// notePlaced must be called when x has got its node.
func (c *Core) notePlaced(x *objects.Allocation, now time.Time) {
	if len(c.ledger.asks) > 0 {
		c.ledger.place(x, now)
	}
}

// noteGivenUp must be called before a nomination is given up that leads nowhere.
func (c *Core) noteGivenUp(x *objects.Allocation, now time.Time) {
	if c.ledger.asks[x] != nil {
		c.ledger.lose(x, Nomination{State: NominationGivenUp, Until: now, Why: c.strayed(x)})
	}
}

// strayed is what keeps x from the node that everybody has left for it.
func (c *Core) strayed(x *objects.Allocation) Verdict {
	v := Verdict{App: x.Application().ID(), User: x.Application().User()}
	n := c.part.Nomination(x)
	if !c.part.Fits(x) {
		v.Obstacle, v.Where = NodeIsTaken, string(n.ID())
		return v
	}
	if v.Obstacle, v.Where = c.startObstacle(x.Application()); v.Obstacle != NotPending {
		return v
	}
	if walls := c.part.Walls(x); len(walls) > 0 {
		v.Obstacle, v.Where = wallObstacle(&walls[0])
		return v
	}
	v.Obstacle, v.Where = NodeRefuses, string(n.ID())
	return v
}

// noteEnded says of nominations that have ended what became of them. It must be called
// after a change that may have ended some.
func (c *Core) noteEnded(s NominationState, now time.Time) {
	for x, f := range c.ledger.asks {
		if f.Nomination.State == NominationWaits && c.part.Nomination(x) == nil {
			f.Nomination = Nomination{State: s, Until: now}
		}
	}
}

// noteLost says that asks have lost their node to another one.
func (c *Core) noteLost(losers []*objects.Allocation, to objects.AllocationKey, now time.Time) {
	for _, x := range losers {
		c.ledger.lose(x, Nomination{State: NominationLost, Until: now, To: to})
	}
}

// noteGone says how allocations have left.
func (c *Core) noteGone(e End, list ...*objects.Allocation) {
	if len(c.ledger.victims) == 0 {
		return
	}
	for _, y := range list {
		c.ledger.gone(y, e)
	}
}

// noteRemoval must be called before an application goes with its asks.
func (c *Core) noteRemoval(id objects.AppID, now time.Time) {
	for x := range c.ledger.asks {
		if x.Application().ID() == id {
			c.ledger.drop(x, now)
		}
	}
}
