package scheduler

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
)

// What happens to preemptions is recorded in the preemption log. Nominations end in many places: each calls
// a function of this file.

// Preemptions are the last preemptions of a partition.
type Preemptions struct {
	Total uint64       // since the partition was created
	Last  []Preemption // newest first

	// UnknownConfirmations counts the confirmations of preemptions of unknown allocations since the
	// partition was created (PRE-85). They changed nothing. Some are late or came twice; many are a fault
	// of the RM.
	UnknownConfirmations uint64

	CoolDowns []preemption.CoolDown // those that last, the oldest first
}

// Preemptions returns the preemptions in the log (PRE-109).
func (c *Core) Preemptions() Preemptions {
	l := &c.preemptionLog
	out := Preemptions{Total: l.total, UnknownConfirmations: l.unknownConfirmations, Last: make([]Preemption, len(l.ring)), CoolDowns: slices.Clone(c.cycles.CoolDowns())}
	for i := range out.Last {
		out.Last[i] = l.nthNewest(i).copyValue()
	}
	return out
}

// Preemption returns the preemption of a number (PRE-111). ok is false if there was none, or if it is no
// longer logged.
func (c *Core) Preemption(number uint64) (r Preemption, ok bool) {
	l := &c.preemptionLog
	if number == 0 || number > l.total || l.total-number >= uint64(len(l.ring)) {
		return r, false
	}
	return l.nthNewest(int(l.total - number)).copyValue(), true
}

// nthNewest is the preemption with i newer ones.
func (l *preemptionLog) nthNewest(i int) *trackedPreemption {
	return l.ring[int((l.total-1-uint64(i))%uint64(l.maxEntries))]
}

// copyValue copies what may change later.
func (f *trackedPreemption) copyValue() Preemption {
	r := f.Preemption
	r.Victims = slices.Clone(r.Victims)
	return r
}

// logPlaced must be called when x was bound.
func (c *Core) logPlaced(x *objects.Allocation, now time.Time) {
	if len(c.preemptionLog.byAsk) > 0 {
		c.preemptionLog.recordPlaced(x, now)
	}
}

// logNominationGivenUp must be called before a nomination is given up.
func (c *Core) logNominationGivenUp(x *objects.Allocation, now time.Time) {
	if c.preemptionLog.byAsk[x] != nil {
		c.preemptionLog.endNomination(x, Nomination{State: NominationGivenUp, EndedAt: now, Verdict: c.giveUpVerdict(x)})
	}
}

// giveUpVerdict is why x cannot be placed on its nominated node although its victims have ended.
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
		v.Reason, v.Subject = constraintReason(shortfalls[0].Constraint, false)
		return v
	}
	v.Reason, v.Subject = NominatedNodeRejectedByRM, string(n.ID())
	return v
}

// logEndedNominations records s for the nominations that have ended. It must be called after a change that
// may have ended some.
func (c *Core) logEndedNominations(s NominationState, now time.Time) {
	for x, f := range c.preemptionLog.byAsk {
		if f.Nomination.State == NominationWaiting && c.part.Nomination(x) == nil {
			f.Nomination = Nomination{State: s, EndedAt: now}
		}
	}
}

// logLostNominations records that asks have lost their nominated node to another ask.
func (c *Core) logLostNominations(nominees []*objects.Allocation, to objects.AllocationKey, now time.Time) {
	for _, x := range nominees {
		c.preemptionLog.endNomination(x, Nomination{State: NominationLost, EndedAt: now, LostTo: to})
	}
}

// logVictimEnds records how allocations have ended, if they are victims.
func (c *Core) logVictimEnds(e VictimEnd, list ...*objects.Allocation) {
	if len(c.preemptionLog.byVictim) == 0 {
		return
	}
	for _, y := range list {
		c.preemptionLog.recordVictimEnd(y, e)
	}
}

// logApplicationRemoval must be called before an application and its asks are removed.
func (c *Core) logApplicationRemoval(id objects.AppID, now time.Time) {
	for x := range c.preemptionLog.byAsk {
		if x.Application().ID() == id {
			c.preemptionLog.recordCancelled(x, now)
		}
	}
}
