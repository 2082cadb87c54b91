package scheduler

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// Oracle evaluates the predicates of the resource manager: taints, affinity, volumes. The Core asks it
// while it decides, about nodes in node order, until one is accepted (NOD-29).
//
// Within one call of Schedule the same question must get the same answer.
type Oracle interface {
	// Fits reports whether the ask may run on the node, which has the free resources for it.
	Fits(ask objects.AllocationKey, node objects.NodeID) bool
}

// BatchOracle is an Oracle that answers about several nodes at once. The Core asks it about one node, and after a
// refusal about batches of the nodes that follow in node order (NOD-40).
type BatchOracle interface {
	Oracle
	// FitsEach returns what Fits would answer about the nodes. It may have fewer answers than nodes, if the last one is an
	// acceptance: what is behind it does not matter.
	FitsEach(ask objects.AllocationKey, nodes []objects.NodeID) (fits []bool)
}

// NoPredicates is the Oracle of a resource manager without predicates. The Core never calls it (PRE-49).
type NoPredicates struct{}

// Fits is always true.
func (NoPredicates) Fits(objects.AllocationKey, objects.NodeID) bool { return true }

// refusalRetry is the time after which an ask that was refused on every node is evaluated again, even if
// nothing has changed: the answers of an Oracle may change without a notification (ASK-33).
const refusalRetry = time.Second
