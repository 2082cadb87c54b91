package objects

import (
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/quota"
)

// maxAppsCheck is the check that a needs now.
func (a *Application) maxAppsCheck() quota.MaxAppsCheck {
	switch {
	case !a.countedRunning:
		return quota.MaxAppsQueuesAndLimits
	case !a.countedInLimits:
		return quota.MaxAppsLimitsOnly
	}
	return quota.MaxAppsUnchecked
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
			q.quota.PostRunning(more)
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
	if p.quotas.HasMaxApplications() {
		p.updateMaxAppsChecks(a)
		p.reindex(a)
	}
}

// updateMaxAppsChecks updates the slots of the ask groups of a.
func (p *Partition) updateMaxAppsChecks(a *Application) {
	for _, group := range a.askGroups.list {
		if p.setMaxAppsCheck(group, p.maxAppsCheckOf(a)) {
			a.askGroups.reindex(group)
		}
	}
}

// maxAppsCheckOf is the check that a needs; quota.MaxAppsUnchecked if nothing has max applications.
func (p *Partition) maxAppsCheckOf(a *Application) quota.MaxAppsCheck {
	if !p.quotas.HasMaxApplications() {
		return quota.MaxAppsUnchecked
	}
	return a.maxAppsCheck()
}

// setMaxAppsCheck gives group the slot of its shape with check. It reports whether the slot
// changed; then the caller must reindex group.
func (p *Partition) setMaxAppsCheck(group *AskGroup, check quota.MaxAppsCheck) (changed bool) {
	if group.maxAppsCheck == check {
		return false
	}
	s, before := group.id.shape, group.maxAppsCheck
	group.maxAppsCheck = check
	if check != quota.MaxAppsUnchecked {
		p.addShapeToMasks(p.shapes.AcquireVariant(s, check))
	}
	group.entry.Mask = group.slotShape().Mask()
	if before != quota.MaxAppsUnchecked {
		p.shapes.ReleaseVariant(s, before)
	}
	return true
}

// slotShape is the shape whose slot g has.
func (g *AskGroup) slotShape() *feasibility.Shape { return g.id.shape.OfVariant(g.maxAppsCheck) }

// Exact reports whether masks are exact for g; otherwise they hold for its bucket.
func (g *AskGroup) Exact() bool { return g.slotShape().Exact() }
