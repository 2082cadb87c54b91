package objects

// mostGains is how many of the last nodes that gained room are remembered.
const mostGains = 256

// gain notes that n may have more room than before. Nothing else lets a shape fit a node
// that it did not fit: of what is known to fit nowhere, only these nodes are looked at.
func (p *Partition) gain(n *Node) {
	if len(p.gained) == mostGains {
		p.gainedAt += mostGains
		p.gained = p.gained[:0]
	}
	p.gained = append(p.gained, n)
}

// barren reports whether s is known to fit no node.
func (p *Partition) barren(s *Shape) bool {
	if s.barren < p.gainedAt {
		return false
	}
	for _, n := range p.gained[s.barren-p.gainedAt:] {
		if n.Takes(s) {
			s.barren = 0
			return false
		}
	}
	s.barren = p.gainedAt + uint64(len(p.gained))
	return true
}
