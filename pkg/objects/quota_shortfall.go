package objects

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// QuotaShortfall is a constraint on resources that blocks an ask even after all expected releases. Only the
// release of allocations that count in it reduces it (PRE-59, PRE-60).
type QuotaShortfall struct {
	Constraint

	// Amount is what must be released before the ask is within the constraint; a quantity of zero or
	// less does not matter.
	Amount resources.Vector
}

// ReducibleOnAnyNode reports whether a release on any node could reduce s. Otherwise s is the
// capacity of the cluster, and releases that free enough on one node reduce it enough.
func (s *QuotaShortfall) ReducibleOnAnyNode() bool { return s.kind != ClusterCapacity }

// QuotaShortfalls are the constraints that block x even after all expected releases, when the
// other nominees of at least its priority are placed: queues first, then limits. None: nothing blocks x.
func (p *Partition) QuotaShortfalls(x *Allocation) (shortfalls []QuotaShortfall) {
	v, outranked := x.shape.Vector(), p.outrankedNominees(x)
	var ofLimits []QuotaShortfall
	for c := range p.ConstraintsOf(x.app).Each {
		switch c.kind {
		case QueueMaxResources, ClusterCapacity:
			if used := p.queueUsedAfterPreemption(c.queue, outranked); !c.allows(used, v) {
				shortfalls = append(shortfalls, QuotaShortfall{c, c.shortfall(used, v)})
			}
		case LimitMaxResources:
			if used := p.usedAfterPreemption(c.account, x); !c.allows(used, v) {
				ofLimits = append(ofLimits, QuotaShortfall{c, c.shortfall(used, v)})
			}
		}
	}
	return append(shortfalls, ofLimits...)
}

// queueUsedAfterPreemption is what q will use after all expected releases and with its nominees placed, without
// those in outranked.
func (p *Partition) queueUsedAfterPreemption(q *Queue, outranked []*Allocation) resources.Vector {
	used := q.quota.WithNominees()
	for _, y := range outranked {
		if q.IsSelfOrAncestorOf(y.app.queue) {
			used.Sub(y.shape.Vector())
		}
	}
	return used
}

// shortfall is by how much used and v together exceed c, for the resources of v.
func (c Constraint) shortfall(used, v resources.Vector) resources.Vector {
	switch c.kind {
	case LimitMaxResources:
		return shortfallOf(c.account.max, used, v)
	case QueueMaxResources:
		return shortfallOf(c.queue.quota.Max(), used, v)
	}
	var missing resources.Vector
	missing.Difference(v, c.capacity, nil)
	missing.Add(used)
	return restrictResources(missing, v)
}

// outrankedNominees are the nominees whose nominations do not block x: x itself, and those of lower
// priority, which x may replace (PRE-76).
func (p *Partition) outrankedNominees(x *Allocation) (outranked []*Allocation) {
	for _, y := range p.marks.nominees {
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
	for y, d := range p.marks.preempting {
		if !d.overdue && y.app.memberOf(a) {
			used.Sub(y.shape.Vector())
		}
	}
	for _, y := range p.marks.nominees {
		if y != x && y.ask.Priority >= x.ask.Priority && y.app.memberOf(a) {
			used.Add(y.shape.Vector())
		}
	}
	return used
}

func (a *Application) memberOf(x *account) bool {
	return slices.ContainsFunc(a.memberships, func(s membership) bool { return s.account == x })
}
