package quota

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/limits"
)

// A queue, and a limit of a user or group, may have max applications (QUO-26, LIM-17). An
// application that is not counted then waits although its asks would fit. Masks express that like
// any other reason: the asks of such an application have slots of their own, which a queue or
// account at its max applications does not have. So nothing is done for the thousands that wait
// when the bound is reached, or no longer.
//
// A queue counts an application while it is Running (QUO-27, QUO-28). A limit counts it from its
// first allocation: an application that had nothing left and asks again is Running, and needs a
// place in the max applications of its limits for the next allocation (LIM-18, LIM-19, ADR 40).

// MaxAppsCheck is which max applications an application must be within before it may be allocated
// anything.
type MaxAppsCheck = feasibility.Variant

// The checks of max applications.
const (
	MaxAppsUnchecked       MaxAppsCheck = iota // none: it is counted
	MaxAppsQueuesAndLimits                     // those of its queues and its limits
	MaxAppsLimitsOnly                          // those of its limits: its queues count it
)

// AtMaxApplications reports whether no further application may start in or below q, because of the
// maxapplications of q (QUO-26).
func (q *Queue) AtMaxApplications() bool {
	return q.maxApplications > 0 && uint64(q.running) >= q.maxApplications
}

// HasMaxApplications reports whether q, or a limit in it, has max applications.
func (q *Queue) HasMaxApplications() bool {
	return q.maxApplications > 0 || slices.ContainsFunc(q.limits, func(r limits.Limit) bool { return r.MaxApplications > 0 })
}
