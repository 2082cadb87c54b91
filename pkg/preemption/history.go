package preemption

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// The preemption log records what happens to preemptions. Ends come from the journal of the partition, after each
// command and each placement.

// Preemptions returns the preemptions in the log (PRE-109).
func (eng *Engine) Preemptions() Preemptions {
	l := &eng.log
	out := Preemptions{Total: l.total, UnknownConfirmations: l.unknownConfirmations, Last: make([]Preemption, len(l.ring)),
		CoolDowns: slices.Clone(eng.cycles.CoolDowns())}
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

// nthNewest returns the preemption with i newer ones.
func (l *preemptionLog) nthNewest(i int) *trackedPreemption {
	return l.ring[int((l.total-1-uint64(i))%uint64(l.maxEntries))]
}

// copyValue copies the fields that may change later.
func (f *trackedPreemption) copyValue() Preemption {
	r := f.Preemption
	r.Victims = slices.Clone(r.Victims)
	return r
}

// logLostNominations records that asks have lost their nominated node to another ask.
func (eng *Engine) logLostNominations(nominees []*objects.Allocation, to objects.AllocationKey, now time.Time) {
	for _, x := range nominees {
		eng.log.endNomination(x, Nomination{State: NominationLost, EndedAt: objects.TimestampOf(now), LostTo: to})
	}
}

// recordEnded records in the log which asks were placed or cancelled, and how victims have ended.
func (eng *Engine) recordEnded(end VictimEnd, now time.Time) {
	for _, x := range take(&eng.changes.removedAsks) {
		switch known, ok := eng.part.Allocation(x.Key()); {
		case !ok || known != x:
			eng.log.recordCancelled(x, now)
		case !x.Pending():
			eng.log.recordPlaced(x, now)
		}
	}
	for _, y := range take(&eng.changes.unmarked) { // those that are overdue or were resized are marked again
		if known, ok := eng.part.Allocation(y.Key()); !ok || known != y {
			eng.log.recordVictimEnd(y, end)
		}
	}
	eng.changes.recordRemoved = len(eng.log.byAsk) > 0
}

// CountUnknownConfirmation counts a confirmation of a preemption of an unknown allocation (PRE-85).
func (eng *Engine) CountUnknownConfirmation() { eng.log.unknownConfirmations++ }

// UnknownConfirmations returns how many such confirmations there were.
func (eng *Engine) UnknownConfirmations() uint64 { return eng.log.unknownConfirmations }

// CoolDowns returns the current cool-downs, the oldest first.
func (eng *Engine) CoolDowns() []CoolDown { return slices.Clone(eng.cycles.CoolDowns()) }
