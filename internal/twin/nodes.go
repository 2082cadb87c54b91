package twin

import (
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

func (t *Twin) addNode(c scheduler.AddNode) {
	switch {
	case t.drains:
		t.emit(scheduler.NodeRejected{Node: c.Node, Reason: "the partition is being removed"})
	case t.node(c.Node) != nil:
		t.emit(scheduler.NodeRejected{Node: c.Node, Reason: "already exists"})
	case t.badCapacity(c.Node, c.Total):
		t.emit(scheduler.NodeRejected{Node: c.Node, Reason: "impossible capacity"})
	default:
		t.nodes = append(t.nodes, &node{id: c.Node, total: c.Total, schedulable: c.Schedulable})
		t.emit(scheduler.NodeAccepted{Node: c.Node})
	}
}

func (t *Twin) setCapacity(c scheduler.SetCapacity) {
	n := t.node(c.Node)
	if n == nil || t.badCapacity(c.Node, c.Total) {
		t.refuse("capacity", "unknown node or impossible capacity")
		return
	}
	if !n.total.Equal(c.Total) {
		t.emit(scheduler.NodeChanged{Node: n.id, What: scheduler.NodeResized, Was: n.total, Is: c.Total})
	}
	n.total = c.Total
	t.relieve(n)
}

// badCapacity reports whether a node, new or not, cannot have this much.
func (t *Twin) badCapacity(id objects.NodeID, total resources.Amounts) bool {
	var others resources.Amounts
	for _, n := range t.nodes {
		if n.id != id {
			others = others.Add(n.total)
		}
	}
	return total.HasNegative() || tooMuch(others, total) || !t.mayName(false, total.All())
}

func (t *Twin) setSchedulable(c scheduler.SetSchedulable) {
	n := t.node(c.Node)
	if n == nil {
		t.refuse("schedulable", "unknown node")
		return
	}
	if n.schedulable != c.Schedulable {
		what := scheduler.NodeDrained
		if c.Schedulable {
			what = scheduler.NodeUndrained
		}
		t.emit(scheduler.NodeChanged{Node: n.id, What: what, Allocations: t.runOn(n.id)})
	}
	n.schedulable = c.Schedulable
}

// runOn counts the allocations on a node.
func (t *Twin) runOn(id objects.NodeID) int {
	return len(filter(t.work, func(w *work) bool { return w.node == id }))
}

func (t *Twin) removeNode(c scheduler.RemoveNode) {
	if t.node(c.Node) == nil {
		t.refuse("removal", "unknown node")
		return
	}
	t.emit(scheduler.NodeChanged{Node: c.Node, What: scheduler.NodeRemoved, Allocations: t.runOn(c.Node)})
	for _, w := range t.end(func(w *work) bool { return w.node == c.Node }) {
		t.tellReleased(w, fmt.Sprintf("Node %s Removed", c.Node))
	}
	t.foreign = slices.DeleteFunc(t.foreign, func(f objects.Foreign) bool { return f.Node == c.Node })
	t.nodes = slices.DeleteFunc(t.nodes, func(n *node) bool { return n.id == c.Node })
}

func (t *Twin) reportForeign(f objects.Foreign) {
	var others resources.Amounts
	for _, o := range t.foreign {
		if o.Node == f.Node && o.Key != f.Key {
			others = others.Add(o.Amounts)
		}
	}
	if t.node(f.Node) == nil || t.known(f.Key) != nil || f.Amounts.HasNegative() || tooMuch(others, f.Amounts) || !t.mayName(false, f.Amounts.All()) {
		t.emit(scheduler.AskRejected{Key: f.Key, Reason: "not a foreign allocation on a known node"})
		return
	}
	t.releaseForeign(f.Key)
	t.foreign = append(t.foreign, f)
}

func (t *Twin) releaseForeign(key objects.AllocationKey) {
	t.foreign = slices.DeleteFunc(t.foreign, func(f objects.Foreign) bool { return f.Key == key })
}
