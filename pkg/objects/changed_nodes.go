package objects

import "slices"

// Who looks for victims keeps things in mind about nodes, and has to hear what has changed.

// TakeChangedNodes returns the nodes whose room or whose work has changed since it was last
// called, each once, in no particular order. Some may have gone since.
func (p *Partition) TakeChangedNodes() []*Node {
	out := p.changedNodes
	p.changedNodes = nil
	for _, n := range out {
		n.inChangedNodes = false
	}
	return out
}

// NodeSetGeneration changes whenever a node comes or goes.
func (p *Partition) NodeSetGeneration() uint64 { return p.nodeSetGeneration }

// ConfigGeneration changes with the configuration.
func (p *Partition) ConfigGeneration() uint64 { return p.configGeneration }

// KindCount is how many kinds of resources are known. It only grows.
func (p *Partition) KindCount() int { return p.names.Len() }

func (p *Partition) markNodeChanged(n *Node) {
	p.recordNodeChange(n)
	if n.inChangedNodes {
		return
	}
	n.inChangedNodes = true
	if p.changedNodes = append(p.changedNodes, n); len(p.changedNodes) > 2*len(p.nodes)+64 { // nobody has looked for long, and nodes came and went
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

// InPreemption reports whether somebody on n was told to leave, or something is held there.
func (n *Node) InPreemption() bool { return len(n.preempting) > 0 || len(n.nominees) > 0 }
