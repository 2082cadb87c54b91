package scheduler

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
)

// planGang finds plans for all asks of the gang of x, or none (PRE-90). Each ask is planned as if the asks
// before it had their nodes. A member that may not preempt keeps the gang from preempting (PRE-91), and a
// gang that needs no victims does not preempt.
func (c *Core) planGang(x *objects.Allocation, firstReason victim.Reason, now time.Time) (plans []victim.Plan) {
	var undo []func()
	defer func() {
		for _, f := range slices.Backward(undo) {
			f()
		}
	}()
	victims := 0
	for _, y := range c.part.Gang(x) {
		plan, found := c.planGangMember(y, firstReason, now)
		if !found {
			return nil
		}
		plans = append(plans, plan)
		victims += len(plan.Victims)
		undo = append(undo, c.part.DryRunPreempt(y, plan.Node, plan.Victims))
	}
	if victims == 0 {
		return nil // all members have feasible nodes, or will
	}
	return plans
}

// planGangMember finds the plan of one member. A member with a feasible node is nominated for it without
// victims, by the first preemption reason of the gang, and waits for the others (PRE-91).
func (c *Core) planGangMember(y *objects.Allocation, firstReason victim.Reason, now time.Time) (victim.Plan, bool) {
	if !y.Ask().Policy.AllowPreemptOther() {
		return victim.Plan{}, false
	}
	if len(c.part.QuotaShortfalls(y)) == 0 {
		if n := c.firstFeasibleNode(y); n != nil {
			return victim.Plan{Ask: y, Reason: firstReason, Node: n}, true
		}
	}
	reasons, _ := preemption.EntitledReasons(c.part, y, now)
	return c.findPlan(y, reasons)
}
