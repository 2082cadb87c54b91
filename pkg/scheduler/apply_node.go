package scheduler

import (
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

func (c *Core) addNode(m AddNode) {
	err := c.checkNotBeingRemoved()
	if err == nil {
		err = c.part.AddNode(m.Node, m.Total, m.Attributes, m.Schedulable)
	}
	if err != nil {
		c.emit(NodeRejected{m.Node, err.Error()})
		return
	}
	c.emit(NodeAccepted{m.Node, m.Total, m.Schedulable})
}

func (c *Core) setCapacity(now time.Time, m SetCapacity) {
	before := c.capacityOf(m.Node)
	if err := c.part.SetCapacity(m.Node, m.Total); err != nil {
		c.emitRefused("capacity of node "+string(m.Node), err)
		return
	}
	if !before.Equal(m.Total) {
		c.emit(NodeChanged{Node: m.Node, Change: NodeResized, Before: before, After: m.Total})
	}
	c.relieveNodePressure(m.Node, now)
}

// capacityOf is what a node has; nothing if there is no such node.
func (c *Core) capacityOf(id objects.NodeID) resources.Amounts {
	n, ok := c.part.Node(id)
	if !ok {
		return resources.Amounts{}
	}
	return c.part.Amounts(n.Total())
}

func (c *Core) setSchedulable(now time.Time, m SetSchedulable) {
	n, ok := c.part.Node(m.Node)
	changes := ok && n.Schedulable() != m.Schedulable
	c.emitRefused("draining of node "+string(m.Node), c.part.SetSchedulable(m.Node, m.Schedulable))
	if changes {
		change := NodeDrained
		if m.Schedulable {
			change = NodeUndrained
		}
		c.emit(NodeChanged{Node: m.Node, Change: change, Allocations: len(n.Allocations())})
	}
	c.logEndedNominations(NominationNodeLost, now)
}

func (c *Core) removeNode(now time.Time, m RemoveNode) {
	before := c.capacityOf(m.Node)
	released, err := c.part.RemoveNode(m.Node, now)
	if err == nil {
		c.emit(NodeChanged{Node: m.Node, Change: NodeRemoved, Before: before, Allocations: len(released)})
	}
	c.emitRefused("removal of node "+string(m.Node), err)
	c.logVictimEnds(VictimEnd{State: VictimNodeRemoved, At: now}, released...)
	c.logEndedNominations(NominationNodeLost, now)
	for _, x := range released {
		c.emit(Released{x.Key(), x.Ask().App, StoppedByRM, fmt.Sprintf("node %s was removed", m.Node)})
	}
	c.emitStateChanges()
}
