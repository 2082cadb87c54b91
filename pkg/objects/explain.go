package objects

import (
	"iter"

	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Queries of an explanation that decisions do not need. Nothing here changes state.

// QueueMaxTooSmall is the first queue from the leaf up, root excluded, whose max is below the
// request of shape s even with nothing allocated (ORD-51); nil: there is none.
func (p *Partition) QueueMaxTooSmall(leaf *Queue, s *feasibility.Shape) *Queue {
	for q := leaf; q.parent != nil; q = q.parent {
		if !q.max.Allows(nil, s.Vector()) {
			return q
		}
	}
	return nil
}

// LimitTooSmall is the limit of the user or the group of a that is below the request of shape s
// even with nothing allocated (ORD-50). ok is false if there is none.
func (p *Partition) LimitTooSmall(a *Application, s *feasibility.Shape) (q *Queue, h UserOrGroup, ok bool) {
	for _, m := range a.memberships {
		if x := m.account; !x.max.Allows(nil, s.Vector()) {
			return x.queue, x.userOrGroup, true
		}
	}
	return nil, h, false
}

// LimitsOf yields the limits of the user and the group of a from its leaf up, with their queues.
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

// EachNode yields all nodes in no order.
func (p *Partition) EachNode(yield func(*Node) bool) {
	for _, n := range p.nodes {
		if !yield(n) {
			return
		}
	}
}

// ForeignAllocation finds a foreign allocation by its key.
func (p *Partition) ForeignAllocation(key AllocationKey) (*Foreign, bool) {
	f, ok := p.foreign[key]
	return f, ok
}

// Free is what n has of a resource for asks that are not nominated for it: available less what is
// held for nominees. It can be negative.
func (n *Node) Free(k resources.Index) resources.Quantity { return n.free(k) }

// ResourceName is the name of a resource.
func (p *Partition) ResourceName(k resources.Index) string { return p.names.Name(k) }
