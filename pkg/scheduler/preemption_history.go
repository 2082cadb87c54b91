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
	Total uint64       // since the partition was there
	Last  []Preemption // the newest first

	// UnknownConfirmations are the confirmations, since the partition was there, that somebody unknown was
	// preempted. They changed nothing. A few are late or came twice; many are a fault of the RM.
	UnknownConfirmations uint64

	CoolDowns []preemption.CoolDown // that last, the oldest first
}

// Preemptions are those that are remembered.
func (c *Core) Preemptions() Preemptions {
	l := &c.preemptionLog
	out := Preemptions{Total: l.total, UnknownConfirmations: l.unknownConfirmations, Last: make([]Preemption, len(l.ring)), CoolDowns: slices.Clone(c.cycles.CoolDowns())}
	for i := range out.Last {
		out.Last[i] = l.nthNewest(i).copyValue()
	}
	return out
}

// Preemption is the one of that number; ok is false when there is none, or it is forgotten.
func (c *Core) Preemption(number uint64) (r Preemption, ok bool) {
	l := &c.preemptionLog
	if number == 0 || number > l.total || l.total-number >= uint64(len(l.ring)) {
		return r, false
	}
	return l.nthNewest(int(l.total - number)).copyValue(), true
}

// nthNewest is the i-th from the newest.
func (l *preemptionLog) nthNewest(i int) *trackedPreemption {
	return l.ring[int((l.total-1-uint64(i))%uint64(l.maxEntries))]
}

// copyValue copies what may still change.
func (f *trackedPreemption) copyValue() Preemption {
	r := f.Preemption
	r.Victims = slices.Clone(r.Victims)
	return r
}

// logPlaced must be called when x has got its node.
func (c *Core) logPlaced(x *objects.Allocation, now time.Time) {
	if len(c.preemptionLog.byAsk) > 0 {
		c.preemptionLog.recordPlaced(x, now)
	}
}

// logNominationGivenUp must be called before a nomination is given up that leads nowhere.
func (c *Core) logNominationGivenUp(x *objects.Allocation, now time.Time) {
	if c.preemptionLog.byAsk[x] != nil {
		c.preemptionLog.endNomination(x, Nomination{State: NominationGivenUp, EndedAt: now, Verdict: c.giveUpVerdict(x)})
	}
}

// giveUpVerdict is what keeps x from the node that everybody has left for it.
func (c *Core) giveUpVerdict(x *objects.Allocation) Verdict {
	v := Verdict{App: x.Application().ID(), User: x.Application().User()}
	n := c.part.Nomination(x)
	if !c.part.FitsNominated(x) {
		v.Reason, v.Subject = NominatedNodeFull, string(n.ID())
		return v
	}
	if v.Reason, v.Subject = c.startReason(x.Application()); v.Reason != NotPending {
		return v
	}
	if shortfalls := c.part.QuotaShortfalls(x); len(shortfalls) > 0 {
		v.Reason, v.Subject = shortfallReason(&shortfalls[0])
		return v
	}
	v.Reason, v.Subject = NominatedNodeRejectedByRM, string(n.ID())
	return v
}

// logEndedNominations says of nominations that have ended what became of them. It must be called
// after a change that may have ended some.
func (c *Core) logEndedNominations(s NominationState, now time.Time) {
	for x, f := range c.preemptionLog.byAsk {
		if f.Nomination.State == NominationWaiting && c.part.Nomination(x) == nil {
			f.Nomination = Nomination{State: s, EndedAt: now}
		}
	}
}

// logLostNominations says that asks have lost their node to another one.
func (c *Core) logLostNominations(nominees []*objects.Allocation, to objects.AllocationKey, now time.Time) {
	for _, x := range nominees {
		c.preemptionLog.endNomination(x, Nomination{State: NominationLost, EndedAt: now, LostTo: to})
	}
}

// logVictimEnds says how allocations have left.
func (c *Core) logVictimEnds(e VictimEnd, list ...*objects.Allocation) {
	if len(c.preemptionLog.byVictim) == 0 {
		return
	}
	for _, y := range list {
		c.preemptionLog.recordVictimEnd(y, e)
	}
}

// logApplicationRemoval must be called before an application goes with its asks.
func (c *Core) logApplicationRemoval(id objects.AppID, now time.Time) {
	for x := range c.preemptionLog.byAsk {
		if x.Application().ID() == id {
			c.preemptionLog.recordCancelled(x, now)
		}
	}
}
