package objects

// maxFreedNodes is how many freed nodes are recorded.
const maxFreedNodes = 256

// noteFreedNode records that n may have more free resources than before. Only that lets a shape fit
// a node that it did not fit: of a shape that fitted no node, only these nodes are checked again.
func (p *Partition) noteFreedNode(n *Node) {
	if len(p.freedNodes) == maxFreedNodes {
		p.freedBase += maxFreedNodes
		p.freedNodes = p.freedNodes[:0]
	}
	p.freedNodes = append(p.freedNodes, n)
}

// fitsNoNode reports whether s is known to fit no node (ASK-35).
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
