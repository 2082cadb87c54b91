package objects

import (
	"iter"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// What an explanation of an ask needs to know beside what decisions do. Nothing here changes
// anything.

// QueueMaxTooSmall is the first queue below root, from the leaf up, whose max would not allow an ask of
// shape s if nothing else were allocated; nil: all of them would.
func (p *Partition) QueueMaxTooSmall(leaf *Queue, s *Shape) *Queue {
	for q := leaf; q.parent != nil; q = q.parent {
		if !q.max.Allows(nil, s.vector) {
			return q
		}
	}
	return nil
}

// LimitTooSmall is the limit of the user or the group of a that would not allow an ask of shape s
// if they held nothing; ok is false when all of them would.
func (p *Partition) LimitTooSmall(a *Application, s *Shape) (q *Queue, h UserOrGroup, ok bool) {
	for _, m := range a.memberships {
		if x := m.account; !x.max.Allows(nil, s.vector) {
			return x.queue, x.userOrGroup, true
		}
	}
	return nil, h, false
}

// LimitsOf yields the limits of the user and the group of a, from its leaf up, with the queues
// that they are set on.
func (p *Partition) LimitsOf(a *Application) iter.Seq2[*Queue, LimitUsage] {
	return func(yield func(*Queue, LimitUsage) bool) {
		for _, s := range a.memberships {
			x := s.account
			if !yield(x.queue, LimitUsage{x.userOrGroup, x.limit, p.names.Amounts(x.allocated), x.maxApplications, x.running, len(x.members)}) {
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
	f, ok := p.foreign[key]
	return f, ok
}

// Free is what n has of a kind of resource for asks that nothing is held for: without what is
// used, by others too, and without what is held for nominees. It can be negative.
func (n *Node) Free(k resources.Index) resources.Quantity { return n.free(k) }

// ResourceName is the name of a kind of resource.
func (p *Partition) ResourceName(k resources.Index) string { return p.names.Name(k) }
