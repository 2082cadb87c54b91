package preemption

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
)

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
	for _, y := range eng.part.Gang(x) {
		plan, found := eng.planGangMember(y, firstReason, now)
		if !found {
			return nil
		}
		plans = append(plans, plan)
		victims += len(plan.Victims)
		undo = append(undo, eng.part.DryRunPreempt(y, plan.Node, plan.Victims))
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
	if len(eng.part.QuotaShortfalls(y)) == 0 {
		if n := eng.host.FirstFeasibleNode(y); n != nil {
			return victim.Plan{Ask: y, Reason: firstReason, Node: n}, true
		}
	}
	reasons, _ := EntitledReasons(eng.part, y, now)
	return eng.findPlan(y, reasons)
}
