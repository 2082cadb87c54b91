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

// Barrier is what keeps an application from being given anything: a queue with no
// application to spare, or its user or its group there. ok is false when there is none,
// or a is counted there already (behaviour.md 3.8, 8.5; ADR 40).
func (p *Partition) Barrier(a *Application) (q *Queue, h Holder, ok bool) {
	g := a.gate()
	if g == open {
		return nil, h, false
	}
	for _, s := range a.seats {
		if s.account.full() {
			return s.account.queue, s.account.holder, true
		}
	}
	for q := a.queue; q != nil && g == startGate; q = q.parent {
		if q.full() {
			return q, h, true
		}
	}
	return nil, h, false
}

// OverLimit is the limit of the user or the group of a that does not allow an ask of shape
// s on top of what they hold; ok is false when all of them do (behaviour.md 8.4).
func (p *Partition) OverLimit(a *Application, s *Shape) (q *Queue, h Holder, ok bool) {
	for _, seat := range a.seats {
		if x := seat.account; !x.max.Allows(x.allocated, s.vector) {
			return x.queue, x.holder, true
		}
	}
	return nil, h, false
}

// Allowed reports whether no quota, no limit and no bound on running applications keeps an
// ask of shape s of a from being placed.
func (p *Partition) Allowed(a *Application, s *Shape) bool {
	_, _, barred := p.Barrier(a)
	_, _, over := p.OverLimit(a, s)
	return !barred && !over && p.Ceiling(a.queue, s) == nil
}

// hasHeadroom reports whether q alone leaves room for an ask of shape s.
func (p *Partition) hasHeadroom(q *Queue, s *Shape) bool {
	if s.gate == startGate && q.full() {
		return false
	}
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
