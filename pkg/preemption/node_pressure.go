package preemption

import (
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
)

// RelieveNodePressure preempts allocations of a node whose capacity is less than they hold, if the
// configuration enables that (PRE-119, NOD-18). Otherwise REST only shows the eviction order.
func (eng *Engine) RelieveNodePressure(id objects.NodeID, now time.Time) {
	n, ok := eng.part.Node(id)
	if !ok || !eng.part.Config().NodePressureEnabled {
		return
	}
	nodeLoad := victim.NodeLoad{Total: eng.part.Amounts(n.Total()), Available: eng.part.Amounts(n.Available())}
	for _, y := range n.Allocations() {
		if eng.part.Preempting(y) || eng.part.Gangs().Ending(y) {
			nodeLoad.Available = nodeLoad.Available.Add(y.Ask().Amounts)
		} else {
			nodeLoad.Allocations = append(nodeLoad.Allocations, y.Ask())
		}
	}
	var victims []*objects.Allocation
	for _, ask := range victim.ForNodePressure(nodeLoad) {
		y, _ := eng.part.Allocation(ask.Key)
		victims = append(victims, y)
	}
	if len(victims) > 0 {
		eng.logNodePressurePreemption(id, nodeLoad, victims, now)
	}
	eng.part.MarkPreempting(victims, now)
	eng.host.OnPreempted(victims, nil, victim.ReasonNodePressure, fmt.Sprintf("node %s has less capacity than its allocations hold", id))
}
