package feasibility

// MaxFreedNodes bounds the freed nodes that are recorded.
const MaxFreedNodes = 256

// FreedNodes lists the nodes that may have more free resources than before, the latest last. Only more free resources
// let a shape fit a node that it did not fit. So for a shape that fitted no node, only these nodes are checked again.
type FreedNodes[N interface{ Fits(s *Shape) bool }] struct {
	nodes []N
	base  uint64 // sequence number of nodes[0]; the first node ever has 1
}

// Add records that n may have more free resources than before.
func (f *FreedNodes[N]) Add(n N) {
	if len(f.nodes) == MaxFreedNodes {
		f.base += MaxFreedNodes
		f.nodes = f.nodes[:0]
	}
	f.nodes = append(f.nodes, n)
}

// next returns the sequence number of the next node to add.
func (f *FreedNodes[N]) next() uint64 { return f.base + uint64(len(f.nodes)) + 1 }

// FitsNone reports whether s is known to fit no node (ASK-35).
func (f *FreedNodes[N]) FitsNone(s *Shape) bool {
	if s.noFitSince <= f.base {
		return false
	}
	for _, n := range f.nodes[s.noFitSince-f.base-1:] {
		if n.Fits(s) {
			s.noFitSince = 0
			return false
		}
	}
	s.noFitSince = f.next()
	return true
}

// SetFitsNone records that s fits no node now.
func (f *FreedNodes[N]) SetFitsNone(s *Shape) { s.noFitSince = f.next() }
