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
	p.changedNode(n)
	p.nodeSet++
	p.standNode(n)
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
	gone := n.Work()
	for _, x := range gone {
		p.Free(x.Key(), now)
	}
	for key, f := range n.foreign {
		delete(p.others, key)
		p.names.Release(p.names.Vector(f.Amounts), resources.Cluster)
	}
	p.setSchedulable(n, false)
	p.unnominate(n, func(*Allocation) bool { return true })
	p.unschedulable.stand(&n.turn, false)
	p.capacity.Sub(n.total)
	p.refit(p.root)
	delete(p.nodes, id)
	p.nodeList.remove(n)
	p.changedNode(n)
	p.changedQueue(p.root) // which shows the capacity as its max
	p.names.Release(n.total, resources.Cluster)
	p.nodeSet++
	p.unsound = true
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
	var without resources.Vector
	without.Difference(p.capacity, n.total, nil)
	if without.Overflows(v, nil) {
		p.names.Release(v, resources.Cluster)
		return fmt.Errorf("node %s: %w", n.id, ErrOverflow)
	}
	p.changedQueue(p.root) // which shows the capacity as its max
	before := slices.Clone(n.total)
	p.placed.Raise(v)
	p.capacity = without
	p.capacity.Add(v)
	p.repost(n, func() { n.total.Difference(v, nil, nil) })
	p.gain(n)
	p.refit(p.root)
	p.unsound = true
	p.Reconsider()
	p.names.Release(before, resources.Cluster)
	return nil
}

func (p *Partition) setSchedulable(n *Node, schedulable bool) {
	if n.schedulable == schedulable {
		return
	}
	p.nodesWith(n).stand(&n.turn, false)
	n.schedulable = schedulable
	p.changes++
	p.touch(n)
	p.fitNode(n)
	if !schedulable {
		p.standNode(n)
		p.unnominate(n, func(x *Allocation) bool { return !n.Accepts(x.shape) })
		return
	}
	p.joining = append(p.joining, n)
	p.gain(n)
	p.Reconsider()
}

// repost changes a book of n and puts n back in its place.
func (p *Partition) repost(n *Node, change func()) {
	change()
	p.changes++
	p.touch(n)
	n.available.Difference(n.total, n.allocated, n.occupied)
	n.key.Score = p.scale.score(n)
	p.fitNode(n)
	p.standNode(n)
}

// fitNode decides which shapes n takes.
func (p *Partition) fitNode(n *Node) {
	p.slots.settle(p.names.Len())
	p.slots.all(&n.turn.can)
	for k := range p.names.Len() {
		p.slots.within(n.turn.can, resources.Kind(k), n.leftover(resources.Kind(k)))
	}
	p.slots.onNode(n.turn.can, n.id)
	if !n.schedulable {
		p.slots.onUnschedulable(n.turn.can)
	}
}

// nodesWith is the index that n belongs into.
func (p *Partition) nodesWith(n *Node) *index[*Node] {
	if n.schedulable {
		return &p.byScore
	}
	return &p.unschedulable
}

// standNode puts n in its place, after its key or what it takes changed. A schedulable node
// enters the order when it joins; one that is not is in its index while it takes anything, which
// hardly any does: so thousands of nodes that are registered unschedulable cost nothing.
func (p *Partition) standNode(n *Node) {
	switch {
	case !n.schedulable:
		p.unschedulable.stand(&n.turn, p.nodes[n.id] == n && !n.turn.can.empty())
	case n.turn.in():
		p.byScore.stand(&n.turn, true)
	}
}

// join puts the nodes that came into use since the last time into the node order. Many
// are sorted together: one by one they would cost more than the decisions they are for.
func (p *Partition) join() {
	joining := slices.DeleteFunc(p.joining, func(n *Node) bool { return !n.schedulable || n.turn.in() })
	p.joining = nil
	if len(joining) < 64 {
		for _, n := range joining {
			p.byScore.stand(&n.turn, true)
		}
		return
	}
	all := make([]*entry[*Node], 0, p.byScore.n+len(joining))
	for m := range p.byScore.members {
		all = append(all, m)
	}
	for _, n := range joining {
		all = append(all, &n.turn)
	}
	p.byScore.fill(all)
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
	if x, ok := p.work[f.Key]; ok {
		return fmt.Errorf("key %s of application %s %w", f.Key, x.ask.App, ErrExists)
	}
	used := p.names.Hold(f.Amounts, resources.Cluster)
	var others resources.Vector
	others.Difference(n.occupied, nil, nil)
	if was, ok := n.foreign[f.Key]; ok {
		others.Sub(p.names.Vector(was.Amounts))
	}
	if others.Overflows(used, nil) {
		p.names.Release(used, resources.Cluster)
		return ErrOverflow
	}
	p.RemoveForeign(f.Key)
	p.others[f.Key] = &f
	n.foreign[f.Key] = &f
	p.repost(n, func() { n.occupied.Add(used) })
	return nil
}

// RemoveForeign forgets foreign usage. ok is false when there is none of that key.
func (p *Partition) RemoveForeign(key AllocationKey) (f *Foreign, ok bool) {
	if f, ok = p.others[key]; !ok {
		return nil, false
	}
	n := p.nodes[f.Node]
	delete(p.others, key)
	delete(n.foreign, key)
	was := p.names.Vector(f.Amounts)
	p.repost(n, func() { n.occupied.Sub(was) })
	p.names.Release(was, resources.Cluster)
	p.gain(n)
	p.Reconsider()
	return f, true
}
