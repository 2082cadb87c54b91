package scheduler

import (
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
)

// relieveNodePressure preempts allocations of a node whose capacity is less than they hold, if the
// configuration enables that (PRE-119, NOD-18). Otherwise REST only shows the eviction order.
func (c *Core) relieveNodePressure(id objects.NodeID, now time.Time) {
	n, ok := c.part.Node(id)
	if !ok || !c.part.Config().NodePressureEnabled {
		return
	}
	nodeLoad := victim.NodeLoad{Total: c.part.Amounts(n.Total()), Available: c.part.Amounts(n.Available())}
	for _, y := range n.Allocations() {
		if c.part.Preempting(y) {
			nodeLoad.Available = nodeLoad.Available.Add(y.Ask().Amounts)
		} else {
			nodeLoad.Allocations = append(nodeLoad.Allocations, y.Ask())
		}
	}
	var victims []*objects.Allocation
	for _, ask := range victim.ForNodePressure(nodeLoad) {
		y, _ := c.part.Allocation(ask.Key)
		victims = append(victims, y)
	}
	if len(victims) > 0 {
		c.logNodePressurePreemption(id, nodeLoad, victims, now)
	}
	c.part.MarkPreempting(victims, now)
	for _, y := range victims {
		c.emit(Released{y.Key(), y.Ask().App, PreemptedByScheduler,
			fmt.Sprintf("preempted (%s): node %s has less capacity than its allocations hold", victim.ReasonNodePressure, id)})
	}
	c.emitPreempted(victims, nil, victim.ReasonNodePressure, fmt.Sprintf("node %s has less capacity than its allocations hold", id))
}
