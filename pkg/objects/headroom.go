package objects

import "github.com/canopy-scheduler/canopy/pkg/resources"

// Ceiling is the first queue, from the leaf up, whose max does not allow an ask of
// shape s on top of what is allocated; nil when all of them do. At root the ceiling is
// the capacity of the cluster, where a resource that no node has is not there at all
// (behaviour.md 3.4, 3.7).
func (p *Partition) Ceiling(leaf *Queue, s *Shape) *Queue {
	for q := leaf; q != nil; q = q.parent {
		if !p.hasHeadroom(q, s) {
			return q
		}
	}
	return nil
}

// hasHeadroom reports whether q alone leaves room for an ask of shape s.
func (p *Partition) hasHeadroom(q *Queue, s *Shape) bool {
	if q.parent == nil {
		return p.capacity.CoversBeyond(q.allocated, s.vector)
	}
	return q.max.Allows(q.allocated, s.vector)
}

// Headroom is how much more q may allocate: the tightest of max minus allocated over
// q and its ancestors and, for the resources the cluster has, of what is left of it.
// It is for people to read; decisions use Ceiling.
func (p *Partition) Headroom(q *Queue) resources.Limit {
	left := resources.LimitFromMap(p.names.Amounts(p.capacity).Map()).Headroom(p.names.Amounts(p.root.allocated))
	for ; q.parent != nil; q = q.parent {
		left = left.Tighten(q.conf.Max.Headroom(p.names.Amounts(q.allocated)))
	}
	return left
}
