package quota

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/limits"
)

// A queue, and a limit of a user or group, may have max applications (QUO-26, LIM-17). An application that is not
// counted then waits although its asks would fit. Masks express that like any other reason: the asks of such an
// application have slots of their own, which the mask of a queue or account at its max applications lacks. So nothing
// is done for the thousands of waiting applications when the bound is reached or left.
//
// A queue counts an application while it is Running (QUO-27, QUO-28). A limit counts an application from its first
// allocation on: an application that had nothing left and asks again is Running, and needs a place in the max
// applications of its limits for its next allocation (LIM-18, LIM-19, ADR 40).

// MaxAppsCheck says which max applications must admit an application before it may be allocated anything.
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
	return q.maxApplications > 0 ||
		slices.ContainsFunc(q.limits.All(), func(r limits.Limit) bool { return r.MaxApplications > 0 })
}

// MaxAppsCheck returns the check that a needs now.
func (a *Application) MaxAppsCheck() MaxAppsCheck {
	switch {
	case !a.countedRunning:
		return MaxAppsQueuesAndLimits
	case !a.countedInLimits:
		return MaxAppsLimitsOnly
	}
	return MaxAppsUnchecked
}

// MaxAppsCheckOf returns the check that a needs; MaxAppsUnchecked if nothing has max applications.
func (t *Tree) MaxAppsCheckOf(a *Application) MaxAppsCheck {
	if !t.hasMaxApplications {
		return MaxAppsUnchecked
	}
	return a.MaxAppsCheck()
}

// CountRunning counts a as running or not. It returns what the caller must post as running to each queue and to each
// account of a: 1, 0 or -1.
func (a *Application) CountRunning(runs bool) (inQueues, inLimits int) {
	limited := runs && !a.restarting
	inQueues, inLimits = difference(a.countedRunning, runs), difference(a.countedInLimits, limited)
	a.countedRunning, a.countedInLimits = runs, limited
	return inQueues, inLimits
}

func difference(was, is bool) int {
	switch {
	case is && !was:
		return 1
	case was && !is:
		return -1
	}
	return 0
}

// SetRestarting says whether a has asked again after it had nothing left, and has had no allocation since: its limits
// do not count it then (LIM-19). CountRunning applies it.
func (a *Application) SetRestarting(restarting bool) { a.restarting = restarting }

// CountedRunning reports whether a counts among the running applications of its queues.
func (a *Application) CountedRunning() bool { return a.countedRunning }

// CountedInLimits reports whether a counts among the running applications of its limits.
func (a *Application) CountedInLimits() bool { return a.countedInLimits }

// CheckRunning checks the counts of a, which runs or not.
func (a *Application) CheckRunning(runs bool) (ok bool) {
	return a.countedRunning == runs && a.countedInLimits == (runs && !a.restarting)
}
