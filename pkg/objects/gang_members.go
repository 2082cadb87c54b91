package objects

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/gangs"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/quota"
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
	slices.SortFunc(all, compareApplications)
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
	delete(l.p.journal.gangs.tries, a)
}

// PlacedTogether reports whether the asks of g are placed together with those of the other task groups of their
// application, or not at all.
func (g *AskGroup) PlacedTogether() bool { return g.hold == heldReady }

// WaitsForMembers reports whether the asks of g wait for each other.
func (g *AskGroup) WaitsForMembers() bool { return g.Held() && g.app.gang.Waits() }

// MemberGroup is the members of a gang that have the same shape, in order.
type MemberGroup struct {
	Shape *feasibility.Shape
	Asks  []*Allocation
}

// Members are the asks of a that are placed together: of each task group the first ones in order. Those of the same
// shape are together: first those that require a node, then the shape with the largest dominant share of the cluster,
// because it fits the fewest nodes; of equal ones that with the first ask in order (GAN-21). Requires: the gang of a
// has enough members, and waits.
func (l GangLedger) Members(a *Application) []MemberGroup {
	var asks []*Allocation
	for i := range a.gang.Groups() {
		t := &a.gang.Groups()[i]
		asks = append(asks, a.firstMembers(t.Name, t.Live())...)
	}
	return l.byShape(asks)
}

// byShape are asks of one application in the order of Members.
func (l GangLedger) byShape(asks []*Allocation) (all []MemberGroup) {
	index := map[*feasibility.Shape]int{}
	for _, x := range asks {
		i, ok := index[x.shape]
		if !ok {
			i, all = len(all), append(all, MemberGroup{Shape: x.shape})
			index[x.shape] = i
		}
		all[i].Asks = append(all[i].Asks, x)
	}
	for _, g := range all {
		slices.SortFunc(g.Asks, compareAsks)
	}
	capacity := l.p.Capacity()
	slices.SortFunc(all, func(g, h MemberGroup) int {
		if c := cmp.Compare(min(len(h.Shape.RequiredNode()), 1), min(len(g.Shape.RequiredNode()), 1)); c != 0 {
			return c
		}
		if c := cmp.Compare(shareOf(h.Shape.Vector(), capacity), shareOf(g.Shape.Vector(), capacity)); c != 0 {
			return c
		}
		return compareAsks(g.Asks[0], h.Asks[0])
	})
	return all
}

// firstMembers are the first n pending asks of a task group, in order.
func (a *Application) firstMembers(taskGroup string, n int) (asks []*Allocation) {
	for _, group := range a.askGroups.list {
		if group.id.taskGroup == taskGroup && !group.id.placeholder {
			asks = append(asks, group.PendingAsks()...)
		}
	}
	slices.SortFunc(asks, compareAsks)
	return asks[:n]
}

func compareAsks(x, y *Allocation) int { return policies.CompareAsks(&x.key, &y.key) }

// shareOf is the largest part of a resource of the cluster that v is.
func shareOf(v, capacity resources.Vector) (share float64) {
	for k, n := range v {
		if total := capacity.At(resources.Index(k)); n > 0 && total > 0 {
			share = max(share, float64(n)/float64(total))
		}
	}
	return share
}

// BlockedTogether is the constraint that keeps the members of an application from being placed together, and how many
// of how many asks of one shape it allows beside the others. ok is false if there is none (GAN-21).
func (l GangLedger) BlockedTogether(a *Application, members []MemberGroup) (by quota.Constraint, allowed, of int,
	ok bool) {
	var placed quota.Projection
	for _, g := range members {
		if n, blocking := placed.Place(&a.quota, g.Shape.Vector(), len(g.Asks)); n < len(g.Asks) {
			return blocking, n, len(g.Asks), true
		}
	}
	return by, 0, 0, false
}

// FitsCapacity reports whether the cluster as a whole has enough for the members of a gang together.
func (l GangLedger) FitsCapacity(members []MemberGroup) bool {
	return l.fitsCapacity(requestedBy(members))
}

func (l GangLedger) fitsCapacity(requested resources.Vector) bool {
	return l.p.root.quota.Allows(l.p.root.Allocated(), requested)
}

func requestedBy(members []MemberGroup) (sum resources.Vector) {
	for _, g := range members {
		sum.AddTimes(g.Shape.Vector(), int64(len(g.Asks)))
	}
	return sum
}

// FitsWith reports whether an ask of shape s fits n beside what is held there and what is used, too.
func (n *Node) FitsWith(s *feasibility.Shape, used resources.Vector) bool {
	taken := append(resources.Vector(nil), n.extra.held...)
	taken.Add(used)
	return n.Accepts(s) && n.available.CoversAfter(taken, s.Vector())
}
