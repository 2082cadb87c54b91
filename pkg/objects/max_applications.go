package objects

import (
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/quota"
)

// runs reports whether a counts among the running applications: it is Running, or placeholders of its gang are
// allocated (QUO-27).
func (a *Application) runs() bool {
	switch a.state {
	case lifecycle.Running:
		return true
	case lifecycle.Accepted, lifecycle.Resuming, lifecycle.Failing:
		return a.boundCount > 0
	}
	return false
}

// updateRunning updates the numbers of running applications after the state of a changed or it was
// allocated something.
func (p *Partition) updateRunning(a *Application) { postRunning(p, a, a.runs()) }

// postRunning counts a as running or not.
func postRunning(p *Partition, a *Application, runs bool) {
	inQueues, inLimits := a.quota.CountRunning(runs)
	if inQueues == 0 && inLimits == 0 {
		return
	}
	if inQueues != 0 {
		for q := a.queue; q != nil; q = q.parent {
			q.quota.PostRunning(inQueues)
			p.journal.post(Change{Kind: QueueRunningChanged, Queue: q})
		}
	}
	if inLimits != 0 {
		for _, m := range a.quota.Memberships() {
			m.Account().PostRunning(inLimits)
			p.journal.post(Change{Kind: AccountRunningChanged, Account: m.Account()})
		}
	}
	p.journal.post(Change{Kind: RunningChanged, App: a})
	if p.quotas.HasMaxApplications() {
		p.updateMaxAppsChecks(a)
		p.reindex(a)
	}
}

// updateMaxAppsChecks updates the slots of the ask groups of a.
func (p *Partition) updateMaxAppsChecks(a *Application) {
	for _, group := range a.askGroups.list {
		if p.setMaxAppsCheck(group, p.quotas.MaxAppsCheckOf(&a.quota)) {
			a.askGroups.reindex(group)
		}
	}
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

// DropShape removes the shape of g from f, and with it all groups of that shape, unless others may share its slot.
func (g *AskGroup) DropShape(f feasibility.Mask) {
	if g.Exact() {
		f.Subtract(g.slotShape().Mask())
	}
}
