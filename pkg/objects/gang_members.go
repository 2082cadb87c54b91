package objects

import (
	"maps"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/gangs"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Virtual placeholders: the members of a gang wait until enough of them are pending, and are then placed together or
// not at all (GAN-19 to GAN-24). Their groups are held back like those that wait for placeholders, except while the
// gang is ready: then they are in the order, and the first of them that has its turn is the turn of the gang.

// memberAdded counts a pending ask, if its gang waits for it. The caller reindexes the application.
func (l GangLedger) memberAdded(x *Allocation) { l.countMember(x, 1) }

// memberRemoved reverts memberAdded.
func (l GangLedger) memberRemoved(x *Allocation) { l.countMember(x, -1) }

func (l GangLedger) countMember(x *Allocation, n int) {
	a := x.app
	if a.gang != nil && !x.ask.Placeholder && a.gang.CountMember(x.ask.TaskGroup(), n) {
		l.updateComplete(a)
		a.reindexReady()
	}
}

// updateComplete updates whether a is listed as a gang that has enough members and waits.
func (l GangLedger) updateComplete(a *Application) {
	if _, incomplete := a.gang.Incomplete(); incomplete || !a.gang.Waits() {
		delete(l.p.gangs.complete, a)
		return
	}
	if l.p.gangs.complete == nil {
		l.p.gangs.complete = map[*Application]struct{}{}
	}
	l.p.gangs.complete[a] = struct{}{}
}

// Complete are the applications whose gangs have enough members, which wait to be placed together, in selection order.
func (l GangLedger) Complete() []*Application {
	all := slices.Collect(maps.Keys(l.p.gangs.complete))
	slices.SortFunc(all, CompareApplications)
	return all
}

// reindexReady updates the ask groups of a after its gang may have become ready, or has stopped being so.
func (a *Application) reindexReady() {
	of := heldBack
	if a.gang.Ready() {
		of = heldReady
	}
	for _, group := range a.askGroups.list {
		if group.Held() && group.hold != of {
			group.hold = of
			a.askGroups.reindex(group)
		}
	}
}

// begin begins the timeout of a gang that waits for its members.
func (l GangLedger) begin(a *Application, now time.Time) {
	before := a.gang.Deadline()
	a.gang.Begin(now)
	l.p.gangs.timers.move(a, before, a.gang.Deadline())
}

// endWait ends the wait of the members of a for each other: a member was placed, so all are, or were before.
func (l GangLedger) endWait(a *Application) {
	if l.p.Reservations().Gang() == a {
		l.p.Reservations().ClearTogether(ReservationPlaced)
	}
	l.count(a, func(g *gangs.Gang) bool {
		g.PlaceTogether()
		return true
	})
	l.updateComplete(a)
}

// PlacedTogether reports whether the asks of g are placed together with those of the other task groups of their
// application, or not at all.
func (g *AskGroup) PlacedTogether() bool { return g.hold == heldReady }

// WaitsForMembers reports whether the asks of g wait for each other.
func (g *AskGroup) WaitsForMembers() bool { return g.Held() && g.app.gang.Waits() }

func compareAsks(x, y *Allocation) int { return policies.CompareAsks(&x.key, &y.key) }

// FitsWith reports whether an ask of shape s fits n beside what is held there and what is used, too.
func (n *Node) FitsWith(s *feasibility.Shape, used resources.Vector) bool {
	taken := append(resources.Vector(nil), n.extra.held...)
	taken.Add(used)
	return n.Accepts(s) && n.available.CoversAfter(taken, s.Vector())
}
