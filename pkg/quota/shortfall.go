package quota

import (
	"iter"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Shortfall is a constraint on resources that blocks an ask even after all expected releases. Only the
// release of allocations that count in it reduces it (PRE-59, PRE-60).
type Shortfall struct {
	Constraint

	// Amount must be released before the ask is within the constraint; quantities of zero or less do not matter.
	Amount resources.Vector
}

// ReducibleOnAnyNode reports whether a release on any node could reduce s. Otherwise s is the
// capacity of the cluster, and releases that free enough on one node reduce it enough.
func (s *Shortfall) ReducibleOnAnyNode() bool { return s.kind != ClusterCapacity }

// Outlook holds the changes that are expected before an ask is placed: the allocations that are expected to be
// released, and the nominated asks, each by application and amounts.
type Outlook struct {
	ExpectedReleases iter.Seq2[*Application, resources.Vector]
	Nominees         iter.Seq2[*Application, resources.Vector] // that are placed before the ask
	// not placed before it: the ask itself, and those that it may replace (PRE-76)
	OutrankedNominees iter.Seq2[*Application, resources.Vector]
}

// Shortfalls returns the constraints that block an ask of v even after all changes of o: queues first, then limits.
// None: nothing blocks it.
func (c Constraints) Shortfalls(v resources.Vector, o Outlook) (shortfalls []Shortfall) {
	var ofLimits []Shortfall
	for x := range c.Each {
		switch x.kind {
		case QueueMaxResources, ClusterCapacity:
			if used := x.queue.usedAfter(o); !x.allows(used, v) {
				shortfalls = append(shortfalls, Shortfall{x, x.shortfall(used, v)})
			}
		case LimitMaxResources:
			if used := x.account.usedAfter(o); !x.allows(used, v) {
				ofLimits = append(ofLimits, Shortfall{x, x.shortfall(used, v)})
			}
		}
	}
	return append(shortfalls, ofLimits...)
}

// usedAfter returns what q will use after all expected releases and with its nominees placed, without
// those that are outranked.
func (q *Queue) usedAfter(o Outlook) resources.Vector {
	used := slices.Clone(q.allocated)
	used.Sub(q.ExpectedRelease())
	used.Add(q.nominated)
	for a, v := range o.OutrankedNominees {
		if q.IsSelfOrAncestorOf(a.leaf) {
			used.Sub(v)
		}
	}
	return used
}

// usedAfter returns what the user or group of x will use after all expected releases and with the nominees that are
// placed before the ask, the ask itself not counted (PRE-61).
func (x *Account) usedAfter(o Outlook) resources.Vector {
	used := slices.Clone(x.allocated)
	for a, v := range o.ExpectedReleases {
		if a.MemberOf(x) {
			used.Sub(v)
		}
	}
	for a, v := range o.Nominees {
		if a.MemberOf(x) {
			used.Add(v)
		}
	}
	return used
}

// shortfall returns by how much used and v together exceed c, for the resources of v.
func (c Constraint) shortfall(used, v resources.Vector) resources.Vector {
	missing := make(resources.Vector, len(v))
	for k, n := range v {
		if n <= 0 {
			continue
		}
		if free, _, ok := c.availabilityAfter(used, resources.Index(k)); ok {
			missing[k] = resources.SubSaturated(n, free)
		}
	}
	return missing
}
