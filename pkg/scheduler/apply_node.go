package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// addNode registers a node, or rejects it (NOD-4).
func (c *Core) addNode(m AddNode) {
	_, cordoned := c.operators.cordoned[m.Node]
	err := c.checkNotBeingRemoved()
	if err == nil {
		err = c.part.AddNode(m.Node, m.Total, m.Attributes, m.Schedulable && !cordoned)
	}
	if err != nil {
		c.emit(NodeRejected{Node: m.Node, Reason: err.Error()})
		return
	}
	if n, ok := c.part.Node(m.Node); ok {
		objects.SetCordoned(c.part, n, cordoned)
		objects.SetDraining(c.part, n, c.operators.draining[m.Node])
	}
	c.emit(NodeAccepted{m.Node, m.Total, c.schedulableByOperators(m.Node, m.Schedulable)})
}

// rejectUnknownNode answers a command about a node that the partition does not have. Other refusals have no
// NodeRejected: the RM would take a node that is registered as one that is not (NOD-8, NOD-22).
func (c *Core) rejectUnknownNode(action string, id objects.NodeID) {
	c.emit(NodeRejected{Node: id, Reason: fmt.Sprintf("%s of %v node %s", action, objects.ErrUnknown, id), Unknown: true})
}

// setCapacity changes the capacity of a node (NOD-24). As with each command about a node, the answers about it are
// forgotten: the RM may have changed something that Canopy does not know (NOD-41).
func (c *Core) setCapacity(now time.Time, m SetCapacity) {
	n, ok := c.part.Node(m.Node)
	if !ok {
		c.rejectUnknownNode("update", m.Node)
		return
	}
	delete(c.answers, n)
	before := c.capacityOf(m.Node)
	if err := c.part.SetCapacity(m.Node, m.Total); err != nil {
		c.emitRefused(Refused{Subject: "capacity of node " + string(m.Node), Node: m.Node}, err)
		return
	}
	if !before.Equal(m.Total) {
		c.nodeChanged(NodeChanged{Node: m.Node, Change: NodeResized, Before: before, After: m.Total})
	}
	c.emitOvercommitted()
	c.preemption.OnNodeResized(n, before, now)
}

// emitOvercommitted emits which nodes began or ceased to be overcommitted since it was last called (NOD-43).
func (c *Core) emitOvercommitted() {
	for _, n := range objects.TakeOvercommitChanges(c.part) {
		e := NodeChanged{Node: n.ID(), Change: NodeNotOvercommitted, After: c.part.Amounts(n.Total()),
			Allocations: n.AllocationCount()}
		if n.Overcommitted() {
			e.Change, e.Excess = NodeOvercommitted, c.part.Amounts(n.Available()).Shortage()
		} else {
			c.preemption.OnNodeRelieved(n)
		}
		c.emit(e)
	}
}

// setAttributes replaces the attributes of a node (CON-9).
func (c *Core) setAttributes(m SetAttributes) {
	if n, ok := c.part.Node(m.Node); ok {
		delete(c.answers, n)
		before := n.Attributes()
		err := c.part.SetAttributes(m.Node, m.Attributes)
		c.emitRefused(Refused{Subject: "attributes of node " + string(m.Node), Node: m.Node}, err)
		if err == nil && !maps.Equal(before, m.Attributes) {
			c.endRefusalsBy(m.Node)
		}
	}
}

// capacityOf is the capacity of a node; empty if there is no such node.
func (c *Core) capacityOf(id objects.NodeID) resources.Amounts {
	n, ok := c.part.Node(id)
	if !ok {
		return resources.Amounts{}
	}
	return c.part.Amounts(n.Total())
}

// setSchedulable makes a node unschedulable, or schedulable again (NOD-24).
func (c *Core) setSchedulable(m SetSchedulable) {
	n, ok := c.part.Node(m.Node)
	if !ok {
		c.rejectUnknownNode("drain", m.Node)
		return
	}
	delete(c.answers, n)
	m.Schedulable = c.schedulableByOperators(m.Node, m.Schedulable)
	if n.Schedulable() == m.Schedulable {
		return
	}
	c.part.SetSchedulable(n, m.Schedulable)
	change := NodeMadeUnschedulable
	if m.Schedulable {
		change = NodeMadeSchedulable
	}
	c.nodeChanged(NodeChanged{Node: m.Node, Change: change, Allocations: n.AllocationCount()})
}

// removeNode removes a node and releases its allocations (NOD-19, RMI-54).
func (c *Core) removeNode(now time.Time, m RemoveNode) {
	before := c.capacityOf(m.Node)
	orphans := c.orphansOn(m.Node)
	released, err := c.part.RemoveNode(m.Node, now)
	if err != nil { // it is unknown
		c.rejectUnknownNode("removal", m.Node)
		return
	}
	c.nodeChanged(NodeChanged{Node: m.Node, Change: NodeRemoved, Before: before, Allocations: len(released)})
	for _, x := range released {
		c.emit(Released{x.Key(), x.Ask().App, StoppedByRM, fmt.Sprintf("node %s was removed", m.Node)})
	}
	for _, f := range orphans {
		c.emit(Released{f.Key, f.Orphan.Ask.App, StoppedByRM, fmt.Sprintf("node %s was removed", m.Node)})
	}
	c.emitStateChanges()
	c.emitReplacements()
}

// orphansOn are the orphaned allocations on a node in key order.
func (c *Core) orphansOn(id objects.NodeID) []*objects.Foreign {
	n, ok := c.part.Node(id)
	if !ok {
		return nil
	}
	return slices.DeleteFunc(n.Foreign(), func(f *objects.Foreign) bool { return f.Orphan == nil })
}
