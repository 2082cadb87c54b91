package objects

import (
	"iter"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// What an explanation of an ask needs to know beside what decisions do. Nothing here changes
// anything.

// ExceedsMax is the first queue below root, from the leaf up, whose max would not allow an ask of
// shape s if nothing else were allocated; nil: all of them would.
func (p *Partition) ExceedsMax(leaf *Queue, s *Shape) *Queue {
	for q := leaf; q.parent != nil; q = q.parent {
		if !q.max.Allows(nil, s.vector) {
			return q
		}
	}
	return nil
}

// ExceedsLimit is the limit of the user or the group of a that would not allow an ask of shape s
// if they held nothing; ok is false when all of them would.
func (p *Partition) ExceedsLimit(a *Application, s *Shape) (q *Queue, h Holder, ok bool) {
	for _, seat := range a.seats {
		if x := seat.account; !x.max.Allows(nil, s.vector) {
			return x.queue, x.holder, true
		}
	}
	return nil, h, false
}

// LimitsOf yields the limits of the user and the group of a, from its leaf up, with the queues
// that they are set on.
func (p *Partition) LimitsOf(a *Application) iter.Seq2[*Queue, Limited] {
	return func(yield func(*Queue, Limited) bool) {
		for _, s := range a.seats {
			x := s.account
			if !yield(x.queue, Limited{x.holder, x.limit, p.names.Amounts(x.allocated), x.most, x.running, len(x.members)}) {
				return
			}
		}
	}
}

// EachNode yields all nodes in no order: it is for sums and maxima.
func (p *Partition) EachNode(yield func(*Node) bool) {
	for _, n := range p.nodes {
		if !yield(n) {
			return
		}
	}
}

// ForeignAllocation finds node usage that is not ours.
func (p *Partition) ForeignAllocation(key AllocationKey) (*Foreign, bool) {
	f, ok := p.others[key]
	return f, ok
}

// Free is what n has of a kind of resource for asks that nothing is held for: without what is
// used, by others too, and without what is held for nominees. It can be negative.
func (n *Node) Free(k resources.Kind) resources.Quantity { return n.leftover(k) }

// ResourceName is the name of a kind of resource.
func (p *Partition) ResourceName(k resources.Kind) string { return p.names.Name(k) }
