package scheduler

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// Oracle evaluates the predicates of the resource manager: taints, affinity, volumes. The Core asks it
// while it decides, about one node after the other in node order, until one is accepted (NOD-29).
//
// Within one call of Schedule the same question must get the same answer.
type Oracle interface {
	// Fits reports whether the ask may run on the node, which has the free resources for it.
	Fits(ask objects.AllocationKey, node objects.NodeID) bool
}

// NoPredicates is the Oracle of a resource manager without predicates. The Core never calls it (PRE-49).
type NoPredicates struct{}

// Fits is always true.
func (NoPredicates) Fits(objects.AllocationKey, objects.NodeID) bool { return true }

// refusalRetry is the time after which an ask that was refused on every node is evaluated again, even if
// nothing has changed: the answers of an Oracle may change without a notification (ASK-33).
const refusalRetry = time.Second
