package preemption

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
)

// Evict preempts allocations because an operator ends them; cause says for what (OPS-7). Requires: they are bound, and their
// release is not ordered.
func (eng *Engine) Evict(victims []*objects.Allocation, cause string, now time.Time) {
	if len(victims) == 0 {
		return
	}
	f := trackVictims(victims, now)
	f.Reason, f.Cause = victim.ReasonOperator, cause
	eng.log.add(f)
	eng.part.MarkPreempting(victims, now)
	eng.host.OnPreempted(victims, nil, victim.ReasonOperator, cause)
}

// EndMoved reports the nominations that have ended because their application was moved to another queue (OPS-9).
func (eng *Engine) EndMoved(now time.Time) {
	for _, l := range eng.part.TakeEndedNominations() {
		eng.log.endNomination(l.Ask, Nomination{State: NominationMoved, EndedAt: now})
		eng.host.OnNominationEnd(l, NominationMoved, nil, "")
		eng.recordNominationEnd(l.Ask, NominationMoved, now)
	}
}
