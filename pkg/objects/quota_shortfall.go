package objects

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// QuotaShortfall is a max of a queue, or a limit of a user or group, that blocks an ask even after
// all expected releases. Only the release of allocations that count in it reduces it (PRE-59,
// PRE-60).
type QuotaShortfall struct {
	queue   *Queue   // whose max it is; nil: it is a limit
	account *account // whose limit it is; nil: it is a max

	// Amount is what must be released before the ask is within the quota; a quantity of zero or
	// less does not matter.
	Amount resources.Vector
}

// ReducedBy reports whether the release of y reduces s.
func (s *QuotaShortfall) ReducedBy(y *Allocation) bool {
	if s.queue != nil {
		return s.queue.IsSelfOrAncestorOf(y.app.queue)
	}
	return y.app.memberOf(s.account)
}

// Source is the queue that has the max or the limit, and the limited user or group; the zero
// UserOrGroup: it is a max.
func (s *QuotaShortfall) Source() (*Queue, UserOrGroup) {
	if s.queue != nil {
		return s.queue, UserOrGroup{}
	}
	return s.account.queue, s.account.userOrGroup
}

// ReducibleOnAnyNode reports whether a release on any node could reduce s. Otherwise s is the
// capacity of the cluster, and releases that free enough on one node reduce it enough.
func (s *QuotaShortfall) ReducibleOnAnyNode() bool { return s.queue == nil || s.queue.parent != nil }

// QuotaShortfalls are the quotas and limits that block x even after all expected releases, when the
// other nominees of at least its priority are placed. None: nothing blocks x.
func (p *Partition) QuotaShortfalls(x *Allocation) (shortfalls []QuotaShortfall) {
	v, outranked := x.shape.Vector(), p.outrankedNominees(x)
	for q := x.app.queue; q != nil; q = q.parent {
		used := slices.Clone(q.allocated)
		used.Sub(q.expectedRelease)
		used.Add(q.nominated)
		for _, y := range outranked {
			if q.IsSelfOrAncestorOf(y.app.queue) {
				used.Sub(y.shape.Vector())
			}
		}
		if q.parent != nil {
			if !q.max.Allows(used, v) {
				shortfalls = append(shortfalls, QuotaShortfall{queue: q, Amount: shortfallOf(q.max, used, v)})
			}
		} else if !p.journal.order.capacity.CoversAfter(used, v) {
			var missing resources.Vector
			missing.Difference(v, p.journal.order.capacity, nil)
			missing.Add(used)
			shortfalls = append(shortfalls, QuotaShortfall{queue: q, Amount: restrictResources(missing, v)})
		}
	}
	for _, s := range x.app.memberships {
		if len(s.account.max) == 0 {
			continue
		}
		if used := p.usedAfterPreemption(s.account, x); !s.account.max.Allows(used, v) {
			shortfalls = append(shortfalls, QuotaShortfall{account: s.account, Amount: shortfallOf(s.account.max, used, v)})
		}
	}
	return shortfalls
}

// outrankedNominees are the nominees whose nominations do not block x: x itself, and those of lower
// priority, which x may replace (PRE-76).
func (p *Partition) outrankedNominees(x *Allocation) (outranked []*Allocation) {
	for _, y := range p.nominees {
		if y == x || y.ask.Priority < x.ask.Priority {
			outranked = append(outranked, y)
		}
	}
	return outranked
}

// shortfallOf is by how much used and v together exceed max, for the resources of v.
func shortfallOf(max resources.LimitVector, used, v resources.Vector) (missing resources.Vector) {
	missing = make(resources.Vector, len(v))
	for k, n := range v {
		if bound, ok := max.At(resources.Index(k)); ok && n > 0 {
			missing[k] = resources.SubSaturated(n, resources.SubSaturated(bound, used.At(resources.Index(k))))
		}
	}
	return missing
}

// restrictResources sets the quantities of a to zero for the resources of which b has none.
func restrictResources(a, b resources.Vector) resources.Vector {
	for k := range a {
		if b.At(resources.Index(k)) <= 0 {
			a[k] = 0
		}
	}
	return a
}

// usedAfterPreemption is what a will use, x not counted, after all expected releases and with the
// other nominees of at least the priority of x placed (PRE-61).
func (p *Partition) usedAfterPreemption(a *account, x *Allocation) resources.Vector {
	used := slices.Clone(a.allocated)
	for y, d := range p.preempting {
		if !d.overdue && y.app.memberOf(a) {
			used.Sub(y.shape.Vector())
		}
	}
	for _, y := range p.nominees {
		if y != x && y.ask.Priority >= x.ask.Priority && y.app.memberOf(a) {
			used.Add(y.shape.Vector())
		}
	}
	return used
}

func (a *Application) memberOf(x *account) bool {
	return slices.ContainsFunc(a.memberships, func(s membership) bool { return s.account == x })
}
