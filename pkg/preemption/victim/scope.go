package victim

import (
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
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
// resource that x requests; nil: there is none. entitles: with x the queue stays within its guarantee, in all requested
// resources or, with preemption.guarantee: lacking, in some (PRE-13, PRE-19, PRE-121).
func GuaranteedQueue(x *objects.Allocation) (q *objects.Queue, entitles bool) {
	for q := x.Application().Queue(); q != nil; q = q.Parent() {
		if guaranteed, inSome, inAll := q.Quota().WithinGuarantee(x.Shape().Vector()); guaranteed {
			return q, inAll || inSome && reclaimsLacking(q)
		}
		if q.Settings().PreemptionPolicy == policies.PreemptFence {
			break
		}
	}
	return nil, false
}

// reclaimsLacking reports whether the guarantee of q entitles to the resources that q lacks although it exceeds its
// guarantee in others (PRE-121).
func reclaimsLacking(q *objects.Queue) bool {
	return q.Settings().PreemptionGuarantee == policies.PreemptionGuaranteeLacking
}

// entitlingQueue returns the queue whose guarantee entitles x; nil: there is none. beyond is what x requests of the
// resources in which the queue would exceed its guarantee: x may have no victims for it (PRE-121). Without
// preemption.guarantee: lacking there is no such resource.
func entitlingQueue(x *objects.Allocation) (q *objects.Queue, beyond resources.Vector) {
	q, entitles := GuaranteedQueue(x)
	switch {
	case !entitles:
		return nil, nil
	case reclaimsLacking(q):
		return q, q.Quota().BeyondGuarantee(x.Shape().Vector())
	}
	return q, nil
}
