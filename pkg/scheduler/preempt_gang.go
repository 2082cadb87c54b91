package scheduler

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
)

// planTogether finds room for all asks of the gang of x, or for none: one after the other,
// each as if those before had their places. Nobody is told to leave unless somebody has to.
// A single one that may not preempt anybody keeps all from it.
func (c *Core) planTogether(x *objects.Allocation, first preemption.Right, now time.Time) (plans []preemption.Plan) {
	var takeBack []func()
	defer func() {
		for _, f := range slices.Backward(takeBack) {
			f()
		}
	}()
	victims := 0
	for _, y := range c.part.Gang(x) {
		plan, found := c.planMember(y, first, now)
		if !found {
			return nil
		}
		plans = append(plans, plan)
		victims += len(plan.Victims)
		takeBack = append(takeBack, c.part.Suppose(y, plan.Node, plan.Victims))
	}
	if victims == 0 {
		return nil // they have what they need, or will
	}
	return plans
}

// planMember finds the place of one of a gang. Where there is room already, it has it by the
// right that the gang tries first: it waits for the others.
func (c *Core) planMember(y *objects.Allocation, first preemption.Right, now time.Time) (preemption.Plan, bool) {
	if !y.Ask().Policy.Other() {
		return preemption.Plan{}, false
	}
	if len(c.part.Walls(y)) == 0 {
		if n := c.willingNode(y); n != nil {
			return preemption.Plan{Ask: y, Right: first, Node: n}, true
		}
	}
	rights, _ := preemption.Rights(c.part, y, now)
	return c.planFor(y, rights)
}
