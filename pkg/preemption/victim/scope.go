package victim

import (
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// preemptionScope returns the highest queue whose allocations may be victims of x: the nearest preemption fence from
// its leaf up, or root (PRE-19).
func preemptionScope(x *objects.Allocation) *objects.Queue {
	q := x.Application().Queue()
	for q.Parent() != nil && q.Settings().PreemptionPolicy != policies.PreemptFence {
		q = q.Parent()
	}
	return q
}

// GuaranteedQueue returns the nearest queue, from the leaf of x up to the preemption fence, whose guarantee names a
// resource that x requests; nil: there is none. within: the queue stays within its guarantee with x, so it entitles x
// (PRE-13, PRE-19).
func GuaranteedQueue(x *objects.Allocation) (q *objects.Queue, within bool) {
	for q := x.Application().Queue(); q != nil; q = q.Parent() {
		if about, within := q.Quota().WithinGuarantee(x.Shape().Vector()); about {
			return q, within
		}
		if q.Settings().PreemptionPolicy == policies.PreemptFence {
			break
		}
	}
	return nil, false
}

// entitlingQueue returns the queue whose guarantee entitles x; nil: there is none.
func entitlingQueue(x *objects.Allocation) *objects.Queue {
	if q, within := GuaranteedQueue(x); within {
		return q
	}
	return nil
}
