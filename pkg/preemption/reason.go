package preemption

import (
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// Reason is why allocations are preempted. Each plan has one (PRE-7).
type Reason uint8

// The preemption reasons, in the order in which an ask tries them (PRE-7). The last two need no ask.
const (
	ReasonRequiredNode Reason = iota // the ask has a required node
	ReasonGuarantee                  // a queue of the ask is below its guarantee
	ReasonPriority                   // the ask has higher priority than the victims
	ReasonQuota                      // a queue is above its enforced max
	ReasonNodePressure               // a node has less capacity than its allocations hold

	numAskReasons = ReasonQuota // the reasons before it are of asks
)

func (r Reason) String() string {
	return [...]string{"required node", "guarantee", "priority", "quota", "pressure"}[r]
}

// preemptionScope is the highest queue whose allocations may be victims of x: the nearest preemption fence from
// its leaf up, or root (PRE-19).
func preemptionScope(x *objects.Allocation) *objects.Queue {
	q := x.Application().Queue()
	for q.Parent() != nil && q.Settings().PreemptionPolicy != policies.PreemptFence {
		q = q.Parent()
	}
	return q
}
