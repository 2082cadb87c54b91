package objects

import "github.com/canopy-scheduler/canopy/pkg/resources"

// BlockingQueue is the first queue, from the leaf up, whose max does not allow an ask of
// shape s on top of what is allocated; nil when all of them do. At root the ceiling is
// the capacity of the cluster, where a resource that no node has is not there at all
// (behaviour.md 3.4, 3.7).
func (p *Partition) BlockingQueue(leaf *Queue, s *Shape) *Queue {
	for q := leaf; q != nil; q = q.parent {
		if !p.hasHeadroom(q, s) {
			return q
		}
	}
	return nil
}

// BlockingMaxApplications is what keeps an application from being given anything: a queue with no
// application to spare, or its user or its group there. ok is false when there is none,
// or a is counted there already (behaviour.md 3.8, 8.5; ADR 40).
func (p *Partition) BlockingMaxApplications(a *Application) (q *Queue, userOrGroup UserOrGroup, ok bool) {
	check := a.maxAppsCheck()
	if check == maxAppsUnchecked {
		return nil, userOrGroup, false
	}
	for _, s := range a.memberships {
		if s.account.atMaxApplications() {
			return s.account.queue, s.account.userOrGroup, true
		}
	}
	for q := a.queue; q != nil && check == maxAppsQueuesAndLimits; q = q.parent {
		if q.atMaxApplications() {
			return q, userOrGroup, true
		}
	}
	return nil, userOrGroup, false
}

// BlockingLimit is the limit of the user or the group of a that does not allow an ask of shape
// s on top of what they hold; ok is false when all of them do (behaviour.md 8.4).
func (p *Partition) BlockingLimit(a *Application, s *Shape) (q *Queue, h UserOrGroup, ok bool) {
	for _, m := range a.memberships {
		if x := m.account; !x.max.Allows(x.allocated, s.vector) {
			return x.queue, x.userOrGroup, true
		}
	}
	return nil, h, false
}

// QuotasAllow reports whether no quota, no limit and no bound on running applications keeps an
// ask of shape s of a from being placed.
func (p *Partition) QuotasAllow(a *Application, s *Shape) bool {
	_, _, barred := p.BlockingMaxApplications(a)
	_, _, over := p.BlockingLimit(a, s)
	return !barred && !over && p.BlockingQueue(a.queue, s) == nil
}

// hasHeadroom reports whether q alone leaves room for an ask of shape s.
func (p *Partition) hasHeadroom(q *Queue, s *Shape) bool {
	if s.maxAppsCheck == maxAppsQueuesAndLimits && q.atMaxApplications() {
		return false
	}
	if q.parent == nil {
		return p.capacity.CoversAfter(q.allocated, s.vector)
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
