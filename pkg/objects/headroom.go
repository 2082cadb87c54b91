package objects

import (
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// hasHeadroom reports whether an ask of shape s is within the headroom of q itself.
func (p *Partition) hasHeadroom(q *Queue, s *feasibility.Shape) bool {
	if s.Variant() == maxAppsQueuesAndLimits && q.atMaxApplications() {
		return false
	}
	return !p.maxOf(q).Blocks(s)
}

// Headroom is how much more q may allocate: the minimum of max less allocated over q and its
// ancestors and, for the resources of the cluster, of its free capacity (QUO-11). It is for
// display; decisions use ConstraintsOf.
func (p *Partition) Headroom(q *Queue) resources.Limit {
	left := resources.LimitFromMap(p.names.Amounts(p.journal.order.capacity).Map()).Headroom(p.names.Amounts(p.root.allocated))
	for ; q.parent != nil; q = q.parent {
		left = left.Tighten(q.conf.Max.Headroom(p.names.Amounts(q.allocated)))
	}
	return left
}
