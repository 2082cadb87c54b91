package objects

import (
	"fmt"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// AddNode registers a node. A node that has nothing is fine; one with a negative
// quantity is not.
func (p *Partition) AddNode(id NodeID, total resources.Amounts, attributes map[string]string, schedulable bool) error {
	if _, ok := p.nodes[id]; ok {
		return fmt.Errorf("node %s %w", id, ErrExists)
	}
	n := newNode(id, attributes)
	if err := p.resizeNode(n, total); err != nil {
		return err
	}
	p.nodes[id] = n
	p.nodeList.add(n)
	p.recordNodeChange(n)
	p.nodeSetGeneration++
	p.reindexNode(n)
	p.setSchedulable(n, schedulable)
	return nil
}

// SetCapacity changes what a node has. What runs on it stays, even over capacity.
func (p *Partition) SetCapacity(id NodeID, total resources.Amounts) error {
	n, ok := p.nodes[id]
	if !ok {
		return fmt.Errorf("%w node %s", ErrUnknown, id)
	}
	return p.resizeNode(n, total)
}

// SetSchedulable drains a node or takes it into use again. Draining changes neither
// the capacity of the cluster nor what runs on the node.
func (p *Partition) SetSchedulable(id NodeID, schedulable bool) error {
	n, ok := p.nodes[id]
	if !ok {
		return fmt.Errorf("%w node %s", ErrUnknown, id)
	}
	p.setSchedulable(n, schedulable)
	return nil
}

// RemoveNode forgets a node and everything on it, and returns the allocations that
// went with it, in key order. Their asks do not come back.
func (p *Partition) RemoveNode(id NodeID, now time.Time) ([]*Allocation, error) {
	n, ok := p.nodes[id]
	if !ok {
		return nil, fmt.Errorf("%w node %s", ErrUnknown, id)
	}
	gone := n.Allocations()
	for _, x := range gone {
		p.Release(x.Key(), now)
	}
	for key, f := range n.foreign {
		delete(p.foreign, key)
		p.names.Release(p.names.Vector(f.Amounts), resources.Cluster)
	}
	p.setSchedulable(n, false)
	p.clearNominationsOn(n, func(*Allocation) bool { return true })
	p.unschedulableNodes.reindex(&n.entry, false)
	p.capacity.Sub(n.total)
	p.refitQueue(p.root)
	delete(p.nodes, id)
	p.nodeList.remove(n)
	p.recordNodeChange(n)
	p.recordQueueChange(p.root) // which shows the capacity as its max
	p.names.Release(n.total, resources.Cluster)
	p.nodeSetGeneration++
	p.sharesStale = true
	return gone, nil
}

func (p *Partition) resizeNode(n *Node, total resources.Amounts) error {
	if total.HasNegative() {
		return fmt.Errorf("node %s %w", n.id, ErrNegative)
	}
	if err := p.names.Admit(total, resources.Cluster); err != nil {
		return fmt.Errorf("node %s: %w", n.id, err)
	}
	v := p.names.Hold(total, resources.Cluster)
	var remaining resources.Vector
	remaining.Difference(p.capacity, n.total, nil)
	if remaining.Overflows(v, nil) {
		p.names.Release(v, resources.Cluster)
		return fmt.Errorf("node %s: %w", n.id, ErrOverflow)
	}
	p.recordQueueChange(p.root) // which shows the capacity as its max
	before := slices.Clone(n.total)
	p.placedKinds.SetMax(v)
	p.capacity = remaining
	p.capacity.Add(v)
	p.updateNode(n, func() { n.total.Difference(v, nil, nil) })
	p.noteFreedNode(n)
	p.refitQueue(p.root)
	p.sharesStale = true
	p.RequestRequeue()
	p.names.Release(before, resources.Cluster)
	return nil
}

func (p *Partition) setSchedulable(n *Node, schedulable bool) {
	if n.schedulable == schedulable {
		return
	}
	p.nodeIndexFor(n).reindex(&n.entry, false)
	n.schedulable = schedulable
	p.preemptionGeneration++
	p.markNodeChanged(n)
	p.fitNode(n)
	if !schedulable {
		p.reindexNode(n)
		p.clearNominationsOn(n, func(x *Allocation) bool { return !n.Accepts(x.shape) })
		return
	}
	p.joining = append(p.joining, n)
	p.noteFreedNode(n)
	p.RequestRequeue()
}

// updateNode changes a book of n and puts n back in its place.
func (p *Partition) updateNode(n *Node, change func()) {
	change()
	p.preemptionGeneration++
	p.markNodeChanged(n)
	n.available.Difference(n.total, n.allocated, n.occupied)
	n.key.Score = p.nodeScorer.score(n)
	p.fitNode(n)
	p.reindexNode(n)
}

// fitNode decides which shapes n takes.
func (p *Partition) fitNode(n *Node) {
	p.slots.addKinds(p.names.Len())
	p.slots.setAll(&n.entry.mask)
	for k := range p.names.Len() {
		p.slots.dropExceeding(n.entry.mask, resources.Index(k), n.free(resources.Index(k)))
	}
	p.slots.dropOtherRequiredNodes(n.entry.mask, n.id)
	if !n.schedulable {
		p.slots.keepPinned(n.entry.mask)
	}
}

// nodeIndexFor is the index that n belongs into.
func (p *Partition) nodeIndexFor(n *Node) *index[*Node] {
	if n.schedulable {
		return &p.schedulableNodes
	}
	return &p.unschedulableNodes
}

// reindexNode puts n in its place, after its key or what it takes changed. A schedulable node
// enters the order when it joins; one that is not is in its index while it takes anything, which
// hardly any does: so thousands of nodes that are registered unschedulable cost nothing.
func (p *Partition) reindexNode(n *Node) {
	switch {
	case !n.schedulable:
		p.unschedulableNodes.reindex(&n.entry, p.nodes[n.id] == n && !n.entry.mask.empty())
	case n.entry.indexed():
		p.schedulableNodes.reindex(&n.entry, true)
	}
}

// indexJoining puts the nodes that came into use since the last time into the node order. Many
// are sorted together: one by one they would cost more than the decisions they are for.
func (p *Partition) indexJoining() {
	joining := slices.DeleteFunc(p.joining, func(n *Node) bool { return !n.schedulable || n.entry.indexed() })
	p.joining = nil
	if len(joining) < 64 {
		for _, n := range joining {
			p.schedulableNodes.reindex(&n.entry, true)
		}
		return
	}
	all := make([]*entry[*Node], 0, p.schedulableNodes.n+len(joining))
	for m := range p.schedulableNodes.members {
		all = append(all, m)
	}
	for _, n := range joining {
		all = append(all, &n.entry)
	}
	p.schedulableNodes.fill(all)
}

// AddForeign records, or records anew, node usage that is not ours.
func (p *Partition) AddForeign(f Foreign) error {
	n, ok := p.nodes[f.Node]
	if !ok {
		return fmt.Errorf("%w node %s", ErrUnknown, f.Node)
	}
	if f.Amounts.HasNegative() {
		return ErrNegative
	}
	if err := p.names.Admit(f.Amounts, resources.Cluster); err != nil {
		return err
	}
	if x, ok := p.allocations[f.Key]; ok {
		return fmt.Errorf("key %s of application %s %w", f.Key, x.ask.App, ErrExists)
	}
	used := p.names.Hold(f.Amounts, resources.Cluster)
	var occupied resources.Vector
	occupied.Difference(n.occupied, nil, nil)
	if was, ok := n.foreign[f.Key]; ok {
		occupied.Sub(p.names.Vector(was.Amounts))
	}
	if occupied.Overflows(used, nil) {
		p.names.Release(used, resources.Cluster)
		return ErrOverflow
	}
	p.RemoveForeign(f.Key)
	p.foreign[f.Key] = &f
	n.foreign[f.Key] = &f
	p.updateNode(n, func() { n.occupied.Add(used) })
	return nil
}

// RemoveForeign forgets foreign usage. ok is false when there is none of that key.
func (p *Partition) RemoveForeign(key AllocationKey) (f *Foreign, ok bool) {
	if f, ok = p.foreign[key]; !ok {
		return nil, false
	}
	n := p.nodes[f.Node]
	delete(p.foreign, key)
	delete(n.foreign, key)
	was := p.names.Vector(f.Amounts)
	p.updateNode(n, func() { n.occupied.Sub(was) })
	p.names.Release(was, resources.Cluster)
	p.noteFreedNode(n)
	p.RequestRequeue()
	return f, true
}
