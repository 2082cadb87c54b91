package objects

import (
	"fmt"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/constraints"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// AddNode registers a node. The capacity may be empty; a negative quantity is an error, and so is an attribute that
// cannot be read.
func (p *Partition) AddNode(id NodeID, total resources.Amounts, attributes map[string]string, schedulable bool) error {
	if _, ok := p.nodes[id]; ok {
		return fmt.Errorf("node %s %w", id, ErrExists)
	}
	n, err := newNode(id, attributes)
	if err != nil {
		return err
	}
	n.rejected = p.shapes.Rejecting(n.info)
	if err := p.resizeNode(n, total); err != nil {
		return err
	}
	p.nodes[id] = n
	p.lists.nodes.add(n)
	n.registered = true
	p.journal.post(Change{Kind: NodeAdded, Node: n})
	p.SetSchedulable(n, schedulable)
	return nil
}

// SetCapacity changes the capacity of a node. Allocations stay, even above the capacity (NOD-15).
func (p *Partition) SetCapacity(id NodeID, total resources.Amounts) error {
	n, ok := p.nodes[id]
	if !ok {
		return fmt.Errorf("%w node %s", ErrUnknown, id)
	}
	return p.resizeNode(n, total)
}

// SetSchedulable makes a node unschedulable (cordons it) or schedulable again. That changes neither the capacity
// of the cluster nor the allocations on the node (NOD-9, NOD-10).
//
// Requires: n is a node of p.
func (p *Partition) SetSchedulable(n *Node, schedulable bool) {
	if n.schedulable == schedulable {
		return
	}
	n.schedulable = schedulable
	p.journal.post(Change{Kind: SchedulabilityChanged, Node: n})
	if !schedulable {
		clearEach(n.extra.nominees, func(x *Allocation) bool { return !n.Accepts(x.shape) }, p.ClearNomination)
		p.Reservations().clearUnsuitable(n)
		p.Gangs().unlinkOn(n, func(x *Allocation) bool { return !n.Accepts(x.shape) })
		return
	}
	p.journal.post(Change{Kind: NodeFreed, Node: n})
}

// SetAttributes replaces the attributes of a node. Allocations stay, even if their constraints do not admit the node
// any more; a nomination or a reservation of such an ask ends, and so does a replacement by it. An attribute that
// cannot be read is an error.
func (p *Partition) SetAttributes(id NodeID, attributes map[string]string) error {
	n, ok := p.nodes[id]
	if !ok {
		return fmt.Errorf("%w node %s", ErrUnknown, id)
	}
	info, err := constraints.NewNode(string(id), attributes)
	if err != nil {
		return fmt.Errorf("node %s: %w", id, err)
	}
	setNodeInfo(p, n, attributes, info.Refusing(n.info.RefusedKinds()))
	return nil
}

// SetRefusedKinds sets which kinds of asks (feasibility.Shape.Kind) n, a node of p, refuses; nil: none. It has the
// effects of a change of attributes.
func SetRefusedKinds(p *Partition, n *Node, kinds map[string]bool) {
	setNodeInfo(p, n, n.attributes, n.info.Refusing(kinds))
}

func setNodeInfo(p *Partition, n *Node, attributes map[string]string, info *constraints.Node) {
	n.setInfo(attributes, info)
	n.rejected = p.shapes.Rejecting(info)
	p.journal.post(Change{Kind: NodeAttributesChanged, Node: n})
	clearEach(n.extra.nominees, func(x *Allocation) bool { return !n.Accepts(x.shape) }, p.ClearNomination)
	p.Reservations().clearUnsuitable(n)
	p.Gangs().unlinkOn(n, func(x *Allocation) bool { return !n.Accepts(x.shape) })
	p.journal.post(Change{Kind: NodeFreed, Node: n})
}

// RemoveNode removes a node with everything on it, and returns its former allocations in key order
// (NOD-19). Their asks do not become pending again.
func (p *Partition) RemoveNode(id NodeID, now time.Time) ([]*Allocation, error) {
	n, ok := p.nodes[id]
	if !ok {
		return nil, fmt.Errorf("%w node %s", ErrUnknown, id)
	}
	released := n.Allocations()
	p.Gangs().unlinkOn(n, func(*Allocation) bool { return true })
	for _, x := range released {
		p.Release(x.Key(), now)
	}
	for _, f := range n.foreign {
		p.foreign.remove(f)
		p.names.Release(p.names.Vector(f.Amounts), resources.Cluster)
	}
	p.SetSchedulable(n, false)
	clearEach(n.extra.nominees, func(*Allocation) bool { return true }, p.ClearNomination)
	p.Reservations().clearOn(n, ReservationNodeLost, func(*Allocation) bool { return true })
	p.root.quota.PostCapacity(n.total, nil)
	delete(p.nodes, id)
	p.lists.nodes.remove(n)
	n.registered = false
	p.journal.post(Change{Kind: NodeRemoved, Node: n})
	p.journal.post(Change{Kind: CapacityChanged, Queue: p.root})
	p.names.Release(n.total, resources.Cluster)
	return released, nil
}

func (p *Partition) resizeNode(n *Node, total resources.Amounts) error {
	if total.HasNegative() {
		return fmt.Errorf("node %s %w", n.ID(), ErrNegative)
	}
	if err := p.names.Admit(total, resources.Cluster); err != nil {
		return fmt.Errorf("node %s: %w", n.ID(), err)
	}
	v := p.names.Hold(total, resources.Cluster)
	if !p.root.quota.PostCapacity(n.total, v) {
		p.names.Release(v, resources.Cluster)
		return fmt.Errorf("node %s: %w", n.ID(), ErrOverflow)
	}
	before := slices.Clone(n.total)
	p.placedResources.SetMax(v)
	p.root.quota.PostDeficit(n.allocated, n.total, -1)
	n.total.Difference(v, nil, nil)
	p.root.quota.PostDeficit(n.allocated, n.total, 1)
	n.updateAvailable(&p.journal)
	p.Reservations().clearUnsuitable(n)
	p.journal.post(Change{Kind: NodeFreed, Node: n})
	p.journal.post(Change{Kind: CapacityChanged, Queue: p.root})
	p.names.Release(before, resources.Cluster)
	return nil
}

// updateAvailable updates what depends on the quantities of n after one of them changed.
func (n *Node) updateAvailable(j *journal) {
	n.available.Difference(n.total, n.allocated, n.occupied)
	j.post(Change{Kind: NodeUsageChanged, Node: n})
}

// fitNode computes the shapes that fit n.
func (o *ordering) fitNode(n *Node) {
	o.shapes.AddResources(o.names.Len())
	o.shapes.SetAll(&n.entry.Mask)
	for k := range o.names.Len() {
		o.shapes.DropExceeding(n.entry.Mask, resources.Index(k), n.Free(resources.Index(k)))
	}
	o.shapes.DropOtherRequiredNodes(n.entry.Mask, string(n.ID()))
	n.entry.Mask.Subtract(n.rejected)
	if !n.schedulable {
		o.shapes.KeepPinned(n.entry.Mask)
	}
}

// reindexNode updates the position of n after its key or its mask changed. A schedulable node
// enters the node order in indexJoining; an unschedulable one is in its index only while asks that
// require it fit, so that thousands of nodes registered unschedulable cost nothing (NOD-14).
func (o *ordering) reindexNode(n *Node) {
	switch {
	case !n.schedulable:
		o.unschedulable.Reindex(n, n.registered && !n.entry.Mask.Empty())
	case n.entry.Indexed():
		o.schedulable.Reindex(n, true)
	}
}

// indexJoining adds the nodes that became schedulable since the last call to the node order. Many
// are sorted together, which costs less than one insertion each.
func (o *ordering) indexJoining() {
	joining := slices.DeleteFunc(o.joining, func(n *Node) bool { return !n.schedulable || n.entry.Indexed() })
	o.joining = nil
	if len(joining) < 64 {
		for _, n := range joining {
			o.schedulable.Reindex(n, true)
		}
		return
	}
	all := make([]*Node, 0, o.schedulable.Len()+len(joining))
	for n := range o.schedulable.All {
		all = append(all, n)
	}
	o.schedulable.Fill(append(all, joining...))
}

// AddForeign records a foreign allocation, or replaces the former report of the key (ASK-56).
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
	p.foreign.add(&f)
	if n.foreign == nil {
		n.foreign = map[AllocationKey]*Foreign{}
	}
	n.foreign[f.Key] = &f
	n.occupied.Add(used)
	n.updateAvailable(&p.journal)
	p.journal.post(Change{Kind: ForeignAdded, Node: n, Foreign: &f})
	return nil
}

// RemoveForeign removes a foreign allocation. ok is false if key has none.
func (p *Partition) RemoveForeign(key AllocationKey) (f *Foreign, ok bool) {
	f, ok = p.foreign.byKey[key]
	if !ok {
		return nil, false
	}
	n := p.nodes[f.Node]
	p.foreign.remove(f)
	delete(n.foreign, key)
	was := p.names.Vector(f.Amounts)
	n.occupied.Sub(was)
	n.updateAvailable(&p.journal)
	p.names.Release(was, resources.Cluster)
	p.journal.post(Change{Kind: ForeignRemoved, Node: n, Foreign: f})
	p.journal.post(Change{Kind: NodeFreed, Node: n})
	return f, true
}
