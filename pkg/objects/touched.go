package objects

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

// NodeSet changes whenever a node comes or goes, and with the configuration.
func (p *Partition) NodeSet() uint64 { return p.nodeSet }

func (p *Partition) touch(n *Node) {
	if !n.touched {
		n.touched = true
		p.touched = append(p.touched, n)
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

// Disturbed reports whether somebody on n was told to leave, or something is held there.
func (n *Node) Disturbed() bool { return len(n.leaving) > 0 || len(n.nominees) > 0 }
