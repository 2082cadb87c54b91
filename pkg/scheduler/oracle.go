package scheduler

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// Oracle answers what only the resource manager can know: taints, affinity, volumes.
// It is the one question the Core asks while deciding. Asking about many nodes at once
// lets the answerer work in parallel without the Core knowing.
//
// Within one call to Schedule the same question must get the same answer.
type Oracle interface {
	// Fits gives one answer per node, in order; nil means yes.
	Fits(ask objects.AllocationKey, nodes []objects.NodeID) []error
}

// Willing is the Oracle of a resource manager that has no opinion. The Core does not
// even ask it.
type Willing struct{}

// Fits says yes.
func (Willing) Fits(_ objects.AllocationKey, nodes []objects.NodeID) []error {
	return make([]error, len(nodes))
}

// An Oracle may change its mind without telling. So an ask that was refused everywhere
// is tried again after this time, even if nothing else happens.
const refusalRetry = time.Second

// oracleBatch is how many nodes are asked about at once.
const oracleBatch = 16
