package objects

import "slices"

// Who looks for victims keeps things in mind about nodes, and has to hear what has changed.

// TakeTouched returns the nodes whose room or whose work has changed since it was last
// called, each once, in no particular order. Some may have gone since.
func (p *Partition) TakeTouched() []*Node {
	out := p.touched
	p.touched = nil
	for _, n := range out {
		n.touched = false
	}
	return out
}

// NodeSet changes whenever a node comes or goes.
func (p *Partition) NodeSet() uint64 { return p.nodeSet }

// Rules changes with the configuration.
func (p *Partition) Rules() uint64 { return p.rules }

// Kinds is how many kinds of resources are known. It only grows.
func (p *Partition) Kinds() int { return p.names.Len() }

func (p *Partition) touch(n *Node) {
	p.changedNode(n)
	if n.touched {
		return
	}
	n.touched = true
	if p.touched = append(p.touched, n); len(p.touched) > 2*len(p.nodes)+64 { // nobody has looked for long, and nodes came and went
		p.touched = slices.DeleteFunc(p.touched, func(n *Node) bool { return p.nodes[n.id] != n })
	}
}

// EachWork yields the allocations on the node, in no order.
func (n *Node) EachWork(yield func(*Allocation) bool) {
	for _, x := range n.work {
		if !yield(x) {
			return
		}
	}
}

// Works is how many allocations are on the node.
func (n *Node) Works() int { return len(n.work) }

// Disturbed reports whether somebody on n was told to leave, or something is held there.
func (n *Node) Disturbed() bool { return len(n.leaving) > 0 || len(n.nominees) > 0 }
