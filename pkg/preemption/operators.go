package preemption

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
)

// Evict preempts allocations because an operator ends them; cause says why (OPS-7). Requires: they are bound, and their
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

// Drain preempts the allocations on a node that an operator drains, as far as disruption budgets allow: the lowest
// priority first; of equal priority the one that was bound last (OPS-10). found: there were some. left: budgets protect
// others, which are to be considered again.
func (eng *Engine) Drain(n *objects.Node, now time.Time) (found, left bool) {
	var order []*objects.Allocation
	for x := range n.EachAllocation {
		if x.Ask().RequiredNode() == "" && !eng.part.Preempting(x) && !objects.Ending(eng.part, x) {
			order = append(order, x)
		}
	}
	slices.SortFunc(order, func(a, b *objects.Allocation) int {
		return cmp.Or(cmp.Compare(a.Ask().Priority, b.Ask().Priority), b.BoundAt().Compare(a.BoundAt()),
			cmp.Compare(a.Key(), b.Key()))
	})
	disrupted := map[*budgets.Tracked]int{}
	victims := order[:0:0]
	for _, x := range order {
		of := eng.part.BudgetsOf(x)
		if slices.ContainsFunc(of, func(b *budgets.Tracked) bool { return disrupted[b] >= b.DisruptionsAllowed() }) {
			continue
		}
		for _, b := range of {
			disrupted[b]++
		}
		victims = append(victims, x)
	}
	eng.Evict(victims, fmt.Sprintf("node %s is drained by an operator", n.ID()), now)
	return len(victims) > 0, len(victims) < len(order)
}

// EndMoved reports the nominations that ended because an operator moved their application to another queue (OPS-9).
func (eng *Engine) EndMoved(now time.Time) {
	for _, l := range take(&eng.changes.endedNominations) {
		eng.log.endNomination(l.Ask, Nomination{State: NominationMoved, EndedAt: objects.TimestampOf(now)})
		eng.host.OnNominationEnd(l, NominationMoved, nil, "")
		eng.recordNominationEnd(l.Ask, NominationMoved, now)
	}
}
