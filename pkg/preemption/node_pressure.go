package preemption

import (
	"cmp"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Who goes first when a node has less than it should: the rule of the kubelet (priority.md
// S3-63 to S3-65). Nobody asks for the room.

// ResourceUsage is what a piece of work asked for, and uses, of one resource.
type ResourceUsage struct {
	Ask       *objects.Ask
	Requested resources.Quantity
	Used      resources.Quantity // what was asked for, if nobody has reported
	Reported  bool
}

// AboveRequest is how much more is used than was asked for; negative when it is less.
func (c ResourceUsage) AboveRequest() resources.Quantity {
	return resources.SubSaturated(c.Used, c.Requested)
}

// EvictionOrder is the order in which work leaves a node that is short of a resource: who uses
// more than it asked for first, then who is less important, then who uses more above what it
// asked for. The name settles the rest.
func EvictionOrder(work []*objects.Ask, resource string) []ResourceUsage {
	claims := make([]ResourceUsage, len(work))
	for i, ask := range work {
		c := ResourceUsage{Ask: ask, Requested: ask.Amounts.Get(resource)}
		c.Used = c.Requested
		if used, err := objects.ReadUsage(ask.Tags); err == nil {
			if n, ok := used[resource]; ok {
				c.Used, c.Reported = n, true
			}
		}
		claims[i] = c
	}
	slices.SortFunc(claims, func(a, b ResourceUsage) int {
		return cmp.Or(
			cmp.Compare(boolToInt(a.AboveRequest() <= 0), boolToInt(b.AboveRequest() <= 0)), cmp.Compare(a.Ask.Priority, b.Ask.Priority),
			cmp.Compare(b.AboveRequest(), a.AboveRequest()), cmp.Compare(a.Ask.Key, b.Ask.Key),
		)
	})
	return claims
}

// NodeLoad is what a node has and holds.
type NodeLoad struct {
	Total       resources.Amounts
	Available   resources.Amounts // without what those hold who were told to leave; negative: too little
	Allocations []*objects.Ask    // without those
}

// ScarcestResource is the resource of which a node lacks the largest share of what it has; ok is
// false when it lacks nothing.
func (l *NodeLoad) ScarcestResource() (resource string, ok bool) {
	worst := resources.Share{}
	for name, n := range l.Available.All() { // in name order
		if n >= 0 {
			continue
		}
		share := resources.Fraction(resources.SubSaturated(0, n), max(1, l.Total.Get(name)))
		if !ok || share.Compare(worst) > 0 {
			resource, worst, ok = name, share, true
		}
	}
	return resource, ok
}

// NodePressureVictims are those who have to leave a node that has less than it holds, so that the
// others have what they asked for, in the order in which they go. Work that accepts no other
// node would come back at once, and stays. System work goes when that of users is not enough.
// None: nobody has to, or it would be in vain, as the node is full of what is not ours.
func NodePressureVictims(l NodeLoad) (victims []*objects.Ask) {
	resource, hasShortage := l.ScarcestResource()
	if !hasShortage {
		return nil
	}
	order := slices.DeleteFunc(EvictionOrder(l.Allocations, resource), func(c ResourceUsage) bool { return c.Ask.RequiredNode != "" })
	slices.SortStableFunc(order, func(a, b ResourceUsage) int {
		return boolToInt(a.Ask.Priority >= minSystemPriority) - boolToInt(b.Ask.Priority >= minSystemPriority)
	})
	available := l.Available
	for _, c := range order {
		if noneNegative(available) {
			break
		}
		if freesScarceResource(c.Ask.Amounts, available) {
			available, victims = available.Add(c.Ask.Amounts), append(victims, c.Ask)
		}
	}
	if !noneNegative(available) {
		return nil
	}
	needed := victims[:0:0]
	for _, y := range slices.Backward(victims) { // who would go last is put back first
		if without := available.Sub(y.Amounts); noneNegative(without) {
			available = without
		} else {
			needed = append(needed, y)
		}
	}
	slices.Reverse(needed)
	return needed
}

func noneNegative(available resources.Amounts) bool { return !available.HasNegative() }

// freesScarceResource reports whether something that is held is something that lacks.
func freesScarceResource(held, available resources.Amounts) bool {
	for name, n := range held.All() {
		if n > 0 && available.Get(name) < 0 {
			return true
		}
	}
	return false
}
