package preemption

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
)

// preemptsAsGang reports whether the task group of x is evaluated for preemption together, for all or for none
// (PRE-90).
func preemptsAsGang(x *objects.Allocation) bool {
	return x.Ask().TaskGroup() != "" && x.Application().Queue().Settings().GangPreemption
}

// gangOf returns the pending asks of the task group of x without a nomination that are not held back, x included, in
// order. Requires: x has a task group, is pending and has no nomination.
func gangOf(p *objects.Partition, x *objects.Allocation) (all []*objects.Allocation) {
	for group := range x.Application().EachAskGroup {
		if group.Held() {
			continue
		}
		for _, y := range group.PendingAsks() {
			if y.Ask().TaskGroup() == x.Ask().TaskGroup() && p.Nomination(y) == nil {
				all = append(all, y)
			}
		}
	}
	slices.SortFunc(all, objects.CompareSelection)
	return all
}

// planGang finds plans for all asks of the gang of x, or none (PRE-90). It plans each ask as if the asks before it had
// their nodes. A member that may not preempt keeps the gang from preempting (PRE-91), and a gang that needs no victims
// does not preempt.
func (eng *Engine) planGang(x *objects.Allocation, firstReason victim.Reason, now time.Time) (plans []victim.Plan) {
	var undo []func()
	defer func() {
		for _, f := range slices.Backward(undo) {
			f()
		}
	}()
	victims := 0
	for _, y := range gangOf(eng.part, x) {
		plan, found := eng.planGangMember(y, firstReason, now)
		if !found {
			return nil
		}
		plans = append(plans, plan)
		victims += len(plan.Victims)
		generation := eng.changes.generation // before the dry run, which changes it
		revert := eng.part.DryRunPreempt(y, plan.Node, plan.Victims)
		undo = append(undo, func() {
			revert()
			eng.changes.generation = generation
		})
	}
	if victims == 0 {
		return nil // all members have feasible nodes, or will
	}
	return plans
}

// planGangMember finds the plan of one member. A member with a feasible node is nominated for it without
// victims, by the first preemption reason of the gang, and waits for the others (PRE-91).
func (eng *Engine) planGangMember(y *objects.Allocation, firstReason victim.Reason, now time.Time) (victim.Plan, bool) {
	if !y.Ask().Policy.AllowPreemptOther() {
		return victim.Plan{}, false
	}
	if len(victim.QuotaShortfalls(eng.part, y)) == 0 {
		if n := eng.host.FirstFeasibleNode(y); n != nil {
			return victim.Plan{Ask: y, Reason: firstReason, Node: n}, true
		}
	}
	reasons, _ := EntitledReasons(eng.shares, y, now)
	return eng.findPlan(y, reasons, now)
}
