package objects

import (
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// BlockingQueue is the first queue, from the leaf up, whose headroom an ask of shape s exceeds;
// nil: there is none (QUO-1). The max of root is the capacity of the cluster; a resource that no
// node has is zero there (QUO-4).
func (p *Partition) BlockingQueue(leaf *Queue, s *feasibility.Shape) *Queue {
	for q := leaf; q != nil; q = q.parent {
		if !p.hasHeadroom(q, s) {
			return q
		}
	}
	return nil
}

// BlockingMaxApplications is the max applications that keep a from being allocated anything: those
// of a queue, or of a limit of its user or group. ok is false if there is none, or a is counted
// there already (QUO-26, LIM-17, ADR 40).
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

// BlockingLimit is the user limit or group limit of a that an ask of shape s exceeds; ok is
// false if there is none (LIM-11).
func (p *Partition) BlockingLimit(a *Application, s *feasibility.Shape) (q *Queue, h UserOrGroup, ok bool) {
	for _, m := range a.memberships {
		if x := m.account; !x.max.Allows(x.allocated, s.Vector()) {
			return x.queue, x.userOrGroup, true
		}
	}
	return nil, h, false
}

// QuotasAllow reports whether no quota, no limit and no max applications block an ask of shape s of
// a.
func (p *Partition) QuotasAllow(a *Application, s *feasibility.Shape) bool {
	_, _, blocked := p.BlockingMaxApplications(a)
	_, _, over := p.BlockingLimit(a, s)
	return !blocked && !over && p.BlockingQueue(a.queue, s) == nil
}

// hasHeadroom reports whether an ask of shape s is within the headroom of q itself.
func (p *Partition) hasHeadroom(q *Queue, s *feasibility.Shape) bool {
	if s.Variant() == maxAppsQueuesAndLimits && q.atMaxApplications() {
		return false
	}
	if q.parent == nil {
		return p.journal.order.capacity.CoversAfter(q.allocated, s.Vector())
	}
	return q.max.Allows(q.allocated, s.Vector())
}

// Headroom is how much more q may allocate: the minimum of max less allocated over q and its
// ancestors and, for the resources of the cluster, of its free capacity (QUO-11). It is for
// display; decisions use BlockingQueue.
func (p *Partition) Headroom(q *Queue) resources.Limit {
	left := resources.LimitFromMap(p.names.Amounts(p.journal.order.capacity).Map()).Headroom(p.names.Amounts(p.root.allocated))
	for ; q.parent != nil; q = q.parent {
		left = left.Tighten(q.conf.Max.Headroom(p.names.Amounts(q.allocated)))
	}
	return left
}
