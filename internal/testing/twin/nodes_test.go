package twin

import (
	"fmt"
	"maps"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/constraints"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

func (t *Twin) addNode(c scheduler.AddNode) {
	switch {
	case t.draining:
		t.emit(scheduler.NodeRejected{Node: c.Node, Reason: "the partition is being removed"})
	case t.node(c.Node) != nil:
		t.emit(scheduler.NodeRejected{Node: c.Node, Reason: "already exists"})
	case t.invalidCapacity(c.Node, c.Total):
		t.emit(scheduler.NodeRejected{Node: c.Node, Reason: "impossible capacity"})
	case unreadable(c.Attributes):
		t.emit(scheduler.NodeRejected{Node: c.Node, Reason: "unreadable attributes"})
	default:
		t.nodes = append(t.nodes,
			&node{id: c.Node, total: c.Total, schedulable: t.schedulableByOperators(c.Node, c.Schedulable),
				attributes: c.Attributes})
		t.emit(scheduler.NodeAccepted{Node: c.Node})
	}
}

func (t *Twin) setCapacity(c scheduler.SetCapacity) {
	n := t.node(c.Node)
	if n == nil {
		t.emit(scheduler.NodeRejected{Node: c.Node, Reason: "unknown node"})
		return
	}
	if t.invalidCapacity(c.Node, c.Total) {
		t.refuse("capacity", "impossible capacity")
		return
	}
	if !n.total.Equal(c.Total) {
		t.emitNodeChanged(scheduler.NodeChanged{Node: n.id, Change: scheduler.NodeResized, Before: n.total, After: c.Total})
	}
	before := n.total
	n.total = c.Total
	t.emitOvercommitted()
	t.beginGrace(n, before)
}

// setAttributes replaces the attributes of a node.
func (t *Twin) setAttributes(c scheduler.SetAttributes) {
	n := t.node(c.Node)
	if n == nil {
		return
	}
	if unreadable(c.Attributes) {
		t.refuse("attributes", "unreadable attributes")
		return
	}
	changed := !maps.Equal(n.attributes, c.Attributes)
	n.attributes = c.Attributes
	if changed {
		t.forgetRefusals(n.id)
	}
	t.unlinkOn(n.id, func(w *allocation) bool { return !n.admits(w.ask) })
}

func unreadable(attributes map[string]string) bool {
	_, err := constraints.NewNode("", attributes)
	return err != nil
}

// invalidCapacity reports whether a capacity is invalid for a node, new or not.
func (t *Twin) invalidCapacity(id objects.NodeID, total resources.Amounts) bool {
	var others resources.Amounts
	for _, n := range t.nodes {
		if n.id != id {
			others = others.Add(n.total)
		}
	}
	return total.HasNegative() || overflows(others, total) || !t.namesWithinLimit(false, total.All())
}

func (t *Twin) setSchedulable(c scheduler.SetSchedulable) {
	n := t.node(c.Node)
	if n == nil {
		t.emit(scheduler.NodeRejected{Node: c.Node, Reason: "unknown node"})
		return
	}
	t.makeSchedulable(n, t.schedulableByOperators(n.id, c.Schedulable))
}

// makeSchedulable makes a node unschedulable, or schedulable.
func (t *Twin) makeSchedulable(n *node, schedulable bool) {
	if n.schedulable != schedulable {
		what := scheduler.NodeMadeUnschedulable
		if schedulable {
			what = scheduler.NodeMadeSchedulable
		}
		t.emitNodeChanged(scheduler.NodeChanged{Node: n.id, Change: what, Allocations: t.allocationCountOn(n.id)})
	}
	n.schedulable = schedulable
	t.unlinkOn(n.id, func(w *allocation) bool { return !n.admits(w.ask) })
}

// allocationCountOn counts the allocations on a node.
func (t *Twin) allocationCountOn(id objects.NodeID) int {
	return len(filter(t.allocations, func(w *allocation) bool { return w.node == id }))
}

func (t *Twin) removeNode(c scheduler.RemoveNode) {
	if t.node(c.Node) == nil {
		t.emit(scheduler.NodeRejected{Node: c.Node, Reason: "unknown node"})
		return
	}
	t.emitNodeChanged(scheduler.NodeChanged{Node: c.Node, Change: scheduler.NodeRemoved,
		Allocations: t.allocationCountOn(c.Node)})
	t.unlinkOn(c.Node, func(*allocation) bool { return true })
	for _, w := range t.removeAllocations(func(w *allocation) bool { return w.node == c.Node }) {
		t.emitReleased(w, fmt.Sprintf("Node %s Removed", c.Node))
	}
	on := filter(t.foreign, func(f *foreign) bool { return f.Node == c.Node })
	for _, f := range byName(on, func(f *foreign) objects.AllocationKey { return f.Key }) {
		if f.report != nil {
			t.emit(scheduler.Released{Key: f.Key, App: f.report.Ask.App, Type: scheduler.StoppedByRM,
				Message: "the node is gone"})
		}
		t.releaseForeign(f.Key)
	}
	t.nodes = slices.DeleteFunc(t.nodes, func(n *node) bool { return n.id == c.Node })
}

func (t *Twin) reportForeign(f objects.Foreign) {
	if !t.addForeign(&foreign{f, nil}) {
		t.emit(scheduler.AskRejected{Key: f.Key, Reason: "not a foreign allocation on a known node"})
	}
}

// addForeign adds a foreign or orphaned allocation, or replaces it. It returns false if that is not possible.
func (t *Twin) addForeign(f *foreign) bool {
	var others resources.Amounts
	for _, o := range t.foreign {
		if o.Node == f.Node && o.Key != f.Key {
			others = others.Add(o.Amounts)
		}
	}
	if t.node(f.Node) == nil || t.allocation(f.Key) != nil || f.Amounts.HasNegative() || overflows(others, f.Amounts) ||
		!t.namesWithinLimit(false, f.Amounts.All()) {
		return false
	}
	t.releaseForeign(f.Key)
	t.foreign = append(t.foreign, f)
	return true
}

func (t *Twin) releaseForeign(key objects.AllocationKey) {
	t.foreign = slices.DeleteFunc(t.foreign, func(f *foreign) bool { return f.Key == key })
}
