package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// switchNode cordons, drains or uncordons a node (OPS-3, OPS-10).
func (c *Core) switchNode(m *Operate) (changed bool, err error) {
	id, action := m.Node, m.Action
	n, known := c.part.Node(id)
	o := &c.operators
	wanted, was := o.cordoned[id]
	switch {
	case !known && !(action == UncordonNode && was):
		return false, fmt.Errorf("%w node %s", objects.ErrUnknown, id)
	case action == UncordonNode && was:
		delete(o.cordoned, id)
		delete(o.draining, id)
		if known {
			objects.SetDraining(c.part, n, false)
			objects.SetCordoned(c.part, n, false)
			c.part.SetSchedulable(n, wanted)
		}
		return true, nil
	case action == UncordonNode:
		return false, nil
	}
	if !was {
		o.cordoned = put(o.cordoned, id, n.Schedulable())
		objects.SetCordoned(c.part, n, true)
		c.part.SetSchedulable(n, false)
	}
	if action == CordonNode {
		return !was, nil
	}
	changed = !o.draining[id]
	o.draining = put(o.draining, id, true)
	objects.SetDraining(c.part, n, true)
	return changed, nil
}

// drainNodes preempts allocations on the first drained node, by ID, that has some which disruption budgets do not
// protect (OPS-10). It reports whether there is one.
func (c *Core) drainNodes(now time.Time) bool {
	c.drainWaits = false
	if len(c.operators.draining) == 0 {
		return false
	}
	for _, id := range slices.Sorted(maps.Keys(c.operators.draining)) {
		n, known := c.part.Node(id)
		if !known {
			continue
		}
		found, left := c.preemption.Drain(n, now)
		c.drainWaits = c.drainWaits || left
		if found {
			return true
		}
	}
	return false
}

// isSchedulable reports whether there is a node, and it is schedulable.
func (c *Core) isSchedulable(id objects.NodeID) bool {
	n, known := c.part.Node(id)
	return known && n.Schedulable()
}

// reportSchedulability emits that an operator made a node schedulable, or unschedulable. before: it was schedulable.
func (c *Core) reportSchedulability(id objects.NodeID, before bool) {
	n, known := c.part.Node(id)
	if !known || n.Schedulable() == before {
		return
	}
	change := NodeMadeSchedulable
	if before {
		change = NodeMadeUnschedulable
	}
	c.nodeChanged(NodeChanged{Node: id, Change: change, Allocations: n.AllocationCount()})
}

// schedulableByOperators reports whether a node is schedulable that the resource manager says is, or is not. For a
// cordoned node, what it says counts when the node is uncordoned (OPS-3).
func (c *Core) schedulableByOperators(id objects.NodeID, schedulable bool) bool {
	if _, cordoned := c.operators.cordoned[id]; cordoned {
		c.operators.cordoned[id] = schedulable
		return false
	}
	return schedulable
}
