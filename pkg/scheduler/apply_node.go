package scheduler

import (
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

func (c *Core) addNode(m AddNode) {
	err := c.open()
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
	was := c.capacityOf(m.Node)
	if err := c.part.SetCapacity(m.Node, m.Total); err != nil {
		c.refuse("capacity of node "+string(m.Node), err)
		return
	}
	if !was.Equal(m.Total) {
		c.emit(NodeChanged{Node: m.Node, What: NodeResized, Was: was, Is: m.Total})
	}
	c.relieve(m.Node, now)
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
	c.refuse("draining of node "+string(m.Node), c.part.SetSchedulable(m.Node, m.Schedulable))
	if changes {
		what := NodeDrained
		if m.Schedulable {
			what = NodeUndrained
		}
		c.emit(NodeChanged{Node: m.Node, What: what, Allocations: len(n.Work())})
	}
	c.noteEnded(NominationLeftNode, now)
}

func (c *Core) removeNode(now time.Time, m RemoveNode) {
	was := c.capacityOf(m.Node)
	gone, err := c.part.RemoveNode(m.Node, now)
	if err == nil {
		c.emit(NodeChanged{Node: m.Node, What: NodeRemoved, Was: was, Allocations: len(gone)})
	}
	c.refuse("removal of node "+string(m.Node), err)
	c.noteGone(End{How: LeftWithNode, At: now}, gone...)
	c.noteEnded(NominationLeftNode, now)
	for _, x := range gone {
		c.emit(Released{x.Key(), x.Ask().App, StoppedByRM, fmt.Sprintf("node %s was removed", m.Node)})
	}
	c.tellStates()
}
