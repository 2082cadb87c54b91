package objects

import "slices"

// Package preemption caches data of nodes, and must know which nodes have changed.

// TakeChangedNodes returns the nodes whose free resources or allocations changed since the last
// call, each once, in no order. Some may be removed by now.
func (p *Partition) TakeChangedNodes() []*Node {
	out := p.changedNodes
	p.changedNodes = nil
	for _, n := range out {
		n.inChangedNodes = false
	}
	return out
}

// NodeSetGeneration changes whenever a node is added or removed.
func (p *Partition) NodeSetGeneration() uint64 { return p.nodeSetGeneration }

// ConfigGeneration changes whenever the configuration changes.
func (p *Partition) ConfigGeneration() uint64 { return p.configGeneration }

// ResourceCount is the number of resource indexes in use. It only grows.
func (p *Partition) ResourceCount() int { return p.names.Len() }

func (p *Partition) markNodeChanged(n *Node) {
	p.recordNodeChange(n)
	if n.inChangedNodes {
		return
	}
	n.inChangedNodes = true
	if p.changedNodes = append(p.changedNodes, n); len(p.changedNodes) > 2*len(p.nodes)+64 { // not taken for long
		p.changedNodes = slices.DeleteFunc(p.changedNodes, func(n *Node) bool { return p.nodes[n.id] != n })
	}
}

// EachAllocation yields the allocations on the node, in no order.
func (n *Node) EachAllocation(yield func(*Allocation) bool) {
	for _, x := range n.allocations {
		if !yield(x) {
			return
		}
	}
}

// AllocationCount is how many allocations are on the node.
func (n *Node) AllocationCount() int { return len(n.allocations) }

// InPreemption reports whether n has preempting allocations or nominees.
func (n *Node) InPreemption() bool { return len(n.preempting) > 0 || len(n.nominees) > 0 }
