package objects

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
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

// maxAppsCheck is which max applications an application must be within before it may be allocated
// anything.
type maxAppsCheck = feasibility.Variant

const (
	maxAppsUnchecked       maxAppsCheck = iota // none: it is counted
	maxAppsQueuesAndLimits                     // those of its queues and its limits
	maxAppsLimitsOnly                          // those of its limits: its queues count it
)

// maxAppsCheck is the check that a needs now.
func (a *Application) maxAppsCheck() maxAppsCheck {
	switch {
	case !a.countedRunning:
		return maxAppsQueuesAndLimits
	case !a.countedInLimits:
		return maxAppsLimitsOnly
	}
	return maxAppsUnchecked
}

// updateRunning updates the numbers of running applications after the state of a changed or it was
// allocated something.
func (p *Partition) updateRunning(a *Application) {
	runs := a.state == lifecycle.Running
	inLimits := runs && !a.restarting
	if runs == a.countedRunning && inLimits == a.countedInLimits {
		return
	}
	if more := boolToInt(runs) - boolToInt(a.countedRunning); more != 0 {
		a.countedRunning = runs
		for q := a.queue; q != nil; q = q.parent {
			q.running += more
			p.journal.queueRunningChanged(q)
		}
	}
	if more := boolToInt(inLimits) - boolToInt(a.countedInLimits); more != 0 {
		a.countedInLimits = inLimits
		for _, s := range a.memberships {
			s.account.running += more
			p.journal.accountRunningChanged(s.account)
		}
	}
	p.journal.runningChanged(a)
	if p.quotaCounts.hasMaxApps {
		p.updateMaxAppsChecks(a)
		p.reindex(a)
	}
}

// atMaxApplications reports whether no further application may start in or below q, because of the
// maxapplications of q (QUO-26).
func (q *Queue) atMaxApplications() bool {
	return q.policy.maxApplications > 0 && uint64(q.running) >= q.policy.maxApplications
}

// anyMaxApps reports whether any queue or limit has max applications.
func (p *Partition) anyMaxApps() bool {
	for _, q := range p.queues {
		if q.hasMaxApplications() {
			return true
		}
	}
	return false
}

// hasMaxApplications reports whether q, or a limit in it, has max applications.
func (q *Queue) hasMaxApplications() bool {
	return q.policy.maxApplications > 0 || slices.ContainsFunc(q.conf.Limits, func(r limits.Limit) bool { return r.MaxApplications > 0 })
}

// updateMaxAppsChecks updates the slots of the ask groups of a.
func (p *Partition) updateMaxAppsChecks(a *Application) {
	for _, group := range a.askGroups.list {
		if p.setMaxAppsCheck(group, p.maxAppsCheckOf(a)) {
			a.askGroups.reindex(group)
		}
	}
}

// maxAppsCheckOf is the check that a needs; maxAppsUnchecked if nothing has max applications.
func (p *Partition) maxAppsCheckOf(a *Application) maxAppsCheck {
	if !p.quotaCounts.hasMaxApps {
		return maxAppsUnchecked
	}
	return a.maxAppsCheck()
}

// setMaxAppsCheck gives group the slot of its shape with check. It reports whether the slot
// changed; then the caller must reindex group.
func (p *Partition) setMaxAppsCheck(group *AskGroup, check maxAppsCheck) (changed bool) {
	if group.maxAppsCheck == check {
		return false
	}
	s, before := group.id.shape, group.maxAppsCheck
	group.maxAppsCheck = check
	if check != maxAppsUnchecked {
		p.addShapeToMasks(p.shapes.AcquireVariant(s, check))
	}
	group.entry.Mask = group.slotShape().Mask()
	if before != maxAppsUnchecked {
		p.shapes.ReleaseVariant(s, before)
	}
	return true
}

// slotShape is the shape whose slot g has.
func (g *AskGroup) slotShape() *feasibility.Shape { return g.id.shape.OfVariant(g.maxAppsCheck) }

// Exact reports whether masks are exact for g; otherwise they hold for its bucket.
func (g *AskGroup) Exact() bool { return g.slotShape().Exact() }
