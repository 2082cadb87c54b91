package objects

// maxFreedNodes is how many of the last nodes that gained room are remembered.
const maxFreedNodes = 256

// noteFreedNode notes that n may have more room than before. Nothing else lets a shape fit a node
// that it did not fit: of what is known to fit nowhere, only these nodes are looked at.
func (p *Partition) noteFreedNode(n *Node) {
	if len(p.freedNodes) == maxFreedNodes {
		p.freedBase += maxFreedNodes
		p.freedNodes = p.freedNodes[:0]
	}
	p.freedNodes = append(p.freedNodes, n)
}

// fitsNoNode reports whether s is known to fit no node.
func (p *Partition) fitsNoNode(s *Shape) bool {
	if s.noFitSince < p.freedBase {
		return false
	}
	for _, n := range p.freedNodes[s.noFitSince-p.freedBase:] {
		if n.Fits(s) {
			s.noFitSince = 0
			return false
		}
	}
	s.noFitSince = p.freedBase + uint64(len(p.freedNodes))
	return true
}
