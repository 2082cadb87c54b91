package preemption

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// What happens to preemptions is recorded in the preemption log. Nominations end in many places: each calls
// a function of this file.

// Preemptions returns the preemptions in the log (PRE-109).
func (eng *Engine) Preemptions() Preemptions {
	l := &eng.log
	out := Preemptions{Total: l.total, UnknownConfirmations: l.unknownConfirmations, Last: make([]Preemption, len(l.ring)), CoolDowns: slices.Clone(eng.cycles.CoolDowns())}
	for i := range out.Last {
		out.Last[i] = l.nthNewest(i).copyValue()
	}
	return out
}

// Preemption returns the preemption of a number (PRE-111). ok is false if there was none, or if it is no
// longer logged.
func (eng *Engine) Preemption(number uint64) (r Preemption, ok bool) {
	l := &eng.log
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

// Placed must be called when x was bound.
func (eng *Engine) Placed(x *objects.Allocation, now time.Time) {
	if len(eng.log.byAsk) > 0 {
		eng.log.recordPlaced(x, now)
	}
}

// NodeLost records the end of victims that were released with a node, and of the nominations for it. It must be
// called when a node was drained or removed.
func (eng *Engine) NodeLost(released []*objects.Allocation, now time.Time) {
	eng.VictimsEnded(VictimEnd{State: VictimNodeRemoved, At: now}, released...)
	eng.logEndedNominations(NominationNodeLost, now)
}

// logEndedNominations records s for the nominations that have ended. It must be called after a change that
// may have ended some.
func (eng *Engine) logEndedNominations(s NominationState, now time.Time) {
	for x, f := range eng.log.byAsk {
		if f.Nomination.State == NominationWaiting && eng.part.Nomination(x) == nil {
			f.Nomination = Nomination{State: s, EndedAt: now}
		}
	}
}

// logLostNominations records that asks have lost their nominated node to another ask.
func (eng *Engine) logLostNominations(nominees []*objects.Allocation, to objects.AllocationKey, now time.Time) {
	for _, x := range nominees {
		eng.log.endNomination(x, Nomination{State: NominationLost, EndedAt: now, LostTo: to})
	}
}

// VictimsEnded records how allocations have ended, if they are victims.
func (eng *Engine) VictimsEnded(e VictimEnd, list ...*objects.Allocation) {
	if len(eng.log.byVictim) == 0 {
		return
	}
	for _, y := range list {
		eng.log.recordVictimEnd(y, e)
	}
}

// RemovingApplication must be called before an application and its asks are removed.
func (eng *Engine) RemovingApplication(id objects.AppID, now time.Time) {
	for x := range eng.log.byAsk {
		if x.Application().ID() == id {
			eng.log.recordCancelled(x, now)
		}
	}
}

// Resized must be called when the amounts of x were changed.
func (eng *Engine) Resized(x *objects.Allocation, now time.Time) {
	if eng.part.Nomination(x) == nil {
		eng.log.endNomination(x, Nomination{State: NominationResized, EndedAt: now})
	}
}

// Cancelling must be called before the ask x is cancelled.
func (eng *Engine) Cancelling(x *objects.Allocation, now time.Time) { eng.log.recordCancelled(x, now) }

// CountUnknownConfirmation counts a confirmation of a preemption of an unknown allocation (PRE-85).
func (eng *Engine) CountUnknownConfirmation() { eng.log.unknownConfirmations++ }

// UnknownConfirmations is how many of them there were.
func (eng *Engine) UnknownConfirmations() uint64 { return eng.log.unknownConfirmations }

// CoolDowns are the current ones, the oldest first.
func (eng *Engine) CoolDowns() []CoolDown { return slices.Clone(eng.cycles.CoolDowns()) }
