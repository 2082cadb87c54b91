package scheduler

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
)

// planGang finds room for all asks of the gang of x, or for none: one after the other,
// each as if those before had their places. Nobody is told to leave unless somebody has to.
// A single one that may not preempt anybody keeps all from it.
func (c *Core) planGang(x *objects.Allocation, firstReason preemption.Reason, now time.Time) (plans []preemption.Plan) {
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
		return nil // they have what they need, or will
	}
	return plans
}

// planGangMember finds the place of one of a gang. Where there is room already, it has it by the
// right that the gang tries first: it waits for the others.
func (c *Core) planGangMember(y *objects.Allocation, firstReason preemption.Reason, now time.Time) (preemption.Plan, bool) {
	if !y.Ask().Policy.AllowPreemptOther() {
		return preemption.Plan{}, false
	}
	if len(c.part.QuotaShortfalls(y)) == 0 {
		if n := c.firstFeasibleNode(y); n != nil {
			return preemption.Plan{Ask: y, Reason: firstReason, Node: n}, true
		}
	}
	reasons, _ := preemption.EntitledReasons(c.part, y, now)
	return c.findPlan(y, reasons)
}
