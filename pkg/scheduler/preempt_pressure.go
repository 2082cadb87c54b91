package scheduler

import (
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
)

// relieve tells work to leave a node that has less than it holds, where the configuration
// wants that. Else it is only shown whom that would be.
func (c *Core) relieve(id objects.NodeID, now time.Time) {
	n, ok := c.part.Node(id)
	if !ok || !c.part.Config().NodePressure {
		return
	}
	load := preemption.Load{Total: c.part.Amounts(n.Total()), Available: c.part.Amounts(n.Available())}
	for _, y := range n.Work() {
		if c.part.Leaving(y) {
			load.Available = load.Available.Add(y.Ask().Amounts)
		} else {
			load.Work = append(load.Work, y.Ask())
		}
	}
	var victims []*objects.Allocation
	for _, ask := range preemption.ForPressure(load) {
		y, _ := c.part.Allocation(ask.Key)
		victims = append(victims, y)
	}
	if len(victims) > 0 {
		c.notePressure(id, load, victims, now)
	}
	c.part.Dismiss(victims, now)
	for _, y := range victims {
		c.emit(Released{y.Key(), y.Ask().App, PreemptedByScheduler,
			fmt.Sprintf("preempted by %s: node %s has less than its work holds", preemption.OfPressure, id)})
	}
	c.noteTold(victims, nil, preemption.OfPressure, fmt.Sprintf("node %s has less than its work holds", id))
}
