package victim

import (
	"cmp"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// The victims of a node whose allocations hold more than its capacity, in the eviction order of the kubelet (PRE-118 to
// PRE-120). There is no preemptor.

// ResourceUsage holds what an allocation requests and uses of one resource.
type ResourceUsage struct {
	Ask       *objects.Ask
	Requested resources.Quantity
	Used      resources.Quantity // Requested, if the RM reported no usage
	Reported  bool               // the RM reported the usage
}

// AboveRequest returns the usage minus the request; negative when less is used.
func (c ResourceUsage) AboveRequest() resources.Quantity {
	return resources.SubSaturated(c.Used, c.Requested)
}

// EvictionOrder sorts the allocations of a node that lacks a resource, the first to be evicted first: usage above the
// request before usage within it, then the lower priority, then the larger usage above the request. A tie is broken by
// the smaller key (PRE-118).
func EvictionOrder(work []*objects.Ask, resource string) []ResourceUsage {
	claims := make([]ResourceUsage, len(work))
	for i, ask := range work {
		c := ResourceUsage{Ask: ask, Requested: ask.Amounts.Get(resource)}
		c.Used = c.Requested
		if used, err := objects.ReadUsage(ask.Tags()); err == nil {
			if n, ok := used[resource]; ok {
				c.Used, c.Reported = n, true
			}
		}
		claims[i] = c
	}
	slices.SortFunc(claims, func(a, b ResourceUsage) int {
		return cmp.Or(
			cmp.Compare(boolToInt(a.AboveRequest() <= 0), boolToInt(b.AboveRequest() <= 0)),
			cmp.Compare(a.Ask.Priority, b.Ask.Priority),
			cmp.Compare(b.AboveRequest(), a.AboveRequest()), cmp.Compare(a.Ask.Key, b.Ask.Key),
		)
	})
	return claims
}

// NodeLoad is the capacity and the allocations of a node.
type NodeLoad struct {
	Total       resources.Amounts
	Available   resources.Amounts // with preempting allocations released; negative: a shortage
	Allocations []*objects.Ask    // without preempting ones
}

// ScarcestResource returns the resource of which the node lacks the largest share of its capacity; ok is false when it
// lacks none.
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

// ForNodePressure returns the allocations to evict from a node whose allocations hold more than its capacity, in
// eviction order (PRE-119, PRE-120). Required-node allocations stay: they would come back to the same node.
// System-priority allocations are evicted only if the others are not enough. There are no victims if the node lacks
// nothing, or if even all of them would not be enough, for example because of foreign allocations.
func ForNodePressure(l NodeLoad) (victims []*objects.Ask) {
	resource, hasShortage := l.ScarcestResource()
	if !hasShortage {
		return nil
	}
	order := slices.DeleteFunc(EvictionOrder(l.Allocations, resource),
		func(c ResourceUsage) bool { return c.Ask.RequiredNode() != "" })
	slices.SortStableFunc(order, func(a, b ResourceUsage) int {
		return boolToInt(hasSystemPriority(a.Ask.Priority)) - boolToInt(hasSystemPriority(b.Ask.Priority))
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
	for _, y := range slices.Backward(victims) { // the last of the eviction order is reprieved first
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

// freesScarceResource reports whether held has a resource that the node lacks.
func freesScarceResource(held, available resources.Amounts) bool {
	for name, n := range held.All() {
		if n > 0 && available.Get(name) < 0 {
			return true
		}
	}
	return false
}
