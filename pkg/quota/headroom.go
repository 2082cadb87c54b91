package quota

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// A mask holds the headroom of a queue, or of a limit, for all shapes at once.

// Refit computes the shapes for which q has headroom, after its allocated resources, its running
// applications or its max changed. count is the number of known resources.
func (q *Queue) Refit(shapes *feasibility.Table, count int) {
	if q.unbounded {
		return
	}
	shapes.AddResources(count)
	shapes.SetAll(&q.fit)
	if q.AtMaxApplications() {
		shapes.DropVariant(q.fit, MaxAppsQueuesAndLimits)
	}
	if q.parent == nil {
		for k := range count {
			k := resources.Index(k)
			shapes.DropExceeding(q.fit, k, q.freeCapacity(q.allocated, k))
		}
		return
	}
	for i := range q.max {
		k, left := q.max.Remaining(i, q.allocated)
		shapes.DropExceeding(q.fit, k, left)
	}
}

// FitShape sets the slot of a new shape in the mask of q if q has headroom for it.
func (q *Queue) FitShape(s *feasibility.Shape) {
	if !q.unbounded {
		q.fit.Set(s.Slot(), q.hasHeadroom(s))
	}
}

// RestrictToHeadroom removes from f the shapes for which q has no headroom.
func (q *Queue) RestrictToHeadroom(f feasibility.Mask) {
	if !q.unbounded {
		f.IntersectWith(q.fit)
	}
}

// hasHeadroom reports whether an ask of shape s is within the headroom of q itself.
func (q *Queue) hasHeadroom(s *feasibility.Shape) bool {
	return !(s.Variant() == MaxAppsQueuesAndLimits && q.AtMaxApplications()) && q.Allows(q.allocated, s.Vector())
}

// Allows reports whether v is within the max of q, or at root within the capacity, in addition to used.
func (q *Queue) Allows(used, v resources.Vector) bool {
	if q.parent != nil {
		return q.max.Allows(used, v)
	}
	for k, n := range v {
		if n > 0 && n > q.freeCapacity(used, resources.Index(k)) {
			return false
		}
	}
	return true
}

// Headroom returns how much more q may allocate: the minimum of max less allocated over q and its
// ancestors and, for the resources of the cluster, of its free capacity (QUO-11). It is for
// display; decisions use masks, and Constraints.
func (q *Queue) Headroom(names *resources.NameTable) (left resources.Limit) {
	for ; q.parent != nil; q = q.parent {
		own := map[string]resources.Quantity{}
		for i := range q.max {
			k, n := q.max.Remaining(i, q.allocated)
			own[names.Name(k)] = n
		}
		left = left.Tighten(resources.LimitFromMap(own))
	}
	used := names.Amounts(q.allocated).Sub(names.Amounts(q.deficit))
	return left.Tighten(resources.LimitFromMap(names.Amounts(q.capacity).Map()).Headroom(used))
}

// CheckFit checks the mask of q against each of the shapes.
func (q *Queue) CheckFit(shapes *feasibility.Table) error {
	for s := range shapes.Slots {
		if !q.unbounded && q.fit.Has(s.Slot()) != q.hasHeadroom(s) {
			return fmt.Errorf("the mask of queue %s is wrong about headroom for shape %v", q.path, s.Vector())
		}
	}
	return nil
}
