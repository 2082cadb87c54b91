package gangscheduling

import (
	"cmp"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// MemberGroup is the members of a gang that have the same shape, in order.
type MemberGroup struct {
	Shape *feasibility.Shape
	Asks  []*objects.Allocation
}

// Members returns the asks of a that are placed together: of each task group the first ones in order. Those of the same
// shape are together: first those that require a node, then the shape with the largest dominant share of the cluster,
// because it fits the fewest nodes; of equal ones that with the first ask in order (GAN-21). Requires: the gang of a
// has enough members, and waits.
func Members(p *objects.Partition, a *objects.Application) []MemberGroup {
	var asks []*objects.Allocation
	for i := range a.Gang().Groups() {
		t := &a.Gang().Groups()[i]
		asks = append(asks, firstMembers(a, t.Name, t.Live())...)
	}
	return ByShape(p, asks)
}

// ByShape returns asks of one application in the order of Members.
func ByShape(p *objects.Partition, asks []*objects.Allocation) (all []MemberGroup) {
	index := map[*feasibility.Shape]int{}
	for _, x := range asks {
		i, ok := index[x.Shape()]
		if !ok {
			i, all = len(all), append(all, MemberGroup{Shape: x.Shape()})
			index[x.Shape()] = i
		}
		all[i].Asks = append(all[i].Asks, x)
	}
	for _, g := range all {
		slices.SortFunc(g.Asks, objects.CompareSelection)
	}
	capacity := p.Capacity()
	slices.SortFunc(all, func(g, h MemberGroup) int {
		if c := cmp.Compare(min(len(h.Shape.RequiredNode()), 1), min(len(g.Shape.RequiredNode()), 1)); c != 0 {
			return c
		}
		if c := cmp.Compare(shareOf(h.Shape.Vector(), capacity), shareOf(g.Shape.Vector(), capacity)); c != 0 {
			return c
		}
		return objects.CompareSelection(g.Asks[0], h.Asks[0])
	})
	return all
}

// firstMembers returns the first n pending asks of a task group, in order.
func firstMembers(a *objects.Application, taskGroup string, n int) (asks []*objects.Allocation) {
	for group := range a.EachAskGroup {
		if x := group.FirstPending().Ask(); x.TaskGroup() == taskGroup && !x.Placeholder {
			asks = append(asks, group.PendingAsks()...)
		}
	}
	slices.SortFunc(asks, objects.CompareSelection)
	return asks[:n]
}

// shareOf returns the largest part of a resource of the cluster that v is.
func shareOf(v, capacity resources.Vector) (share float64) {
	for k, n := range v {
		if total := capacity.At(resources.Index(k)); n > 0 && total > 0 {
			share = max(share, float64(n)/float64(total))
		}
	}
	return share
}

// BlockedTogether returns the constraint that keeps the members of an application from being placed together, and how
// many of how many asks of one shape it allows beside the others. ok is false if there is none (GAN-21).
func BlockedTogether(a *objects.Application, members []MemberGroup) (by quota.Constraint, allowed, of int,
	ok bool) {
	return blockedBeside(a, members, nil)
}

// BlockedWithNodes is BlockedTogether where nodes join for percents that the members together exceed (QUO-68).
func BlockedWithNodes(a *objects.Application, members []MemberGroup) (by quota.Constraint, ok bool) {
	by, _, _, ok = blockedBeside(a, members, RequestedBy(members))
	return by, ok
}

func blockedBeside(a *objects.Application, members []MemberGroup, together resources.Vector) (by quota.Constraint,
	allowed, of int, ok bool) {
	var placed quota.Projection
	for _, g := range members {
		n, blocking := placed.PlaceWithNodes(a.Quota(), g.Shape.Vector(), len(g.Asks), together)
		if n < len(g.Asks) {
			return blocking, n, len(g.Asks), true
		}
	}
	return by, 0, 0, false
}

// FitsCapacity reports whether the cluster as a whole has enough for the members of a gang together.
func FitsCapacity(p *objects.Partition, members []MemberGroup) bool {
	return fitsCapacity(p, RequestedBy(members))
}

func fitsCapacity(p *objects.Partition, requested resources.Vector) bool {
	return p.Root().Quota().Allows(p.Root().Allocated(), requested)
}

// RequestedBy returns what the members request together.
func RequestedBy(members []MemberGroup) (sum resources.Vector) {
	for _, g := range members {
		sum.AddTimes(g.Shape.Vector(), int64(len(g.Asks)))
	}
	return sum
}
