package scheduler

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// Oracle answers what only the resource manager can know: taints, affinity, volumes.
// It is the one question the Core asks while deciding, about one node after the other, in
// the order in which it would like them, until one is accepted.
//
// Within one call to Schedule the same question must get the same answer.
type Oracle interface {
	// Fits reports whether the ask may run on the node, which has room for it.
	Fits(ask objects.AllocationKey, node objects.NodeID) bool
}

// NoPredicates is the Oracle of a resource manager that has no opinion. The Core does not
// even ask it.
type NoPredicates struct{}

// Fits says yes.
func (NoPredicates) Fits(objects.AllocationKey, objects.NodeID) bool { return true }

// An Oracle may change its mind without telling. So an ask that was refused everywhere
// is tried again after this time, even if nothing else happens.
const refusalRetry = time.Second
