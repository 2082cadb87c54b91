package victim

import (
	"cmp"
	"math"
)

// planCost holds the values by which plans are compared (PRE-55, PRE-56).
type planCost struct {
	highestPriority  int64 // of its victims; without victims below any priority
	prioritySum      int64 // of (priority + 2^31) over all victims
	victims          int   // number of allocations
	earliestStart    int64 // start of the oldest victim with highestPriority, in nanoseconds
	budgetViolations int   // units beyond a disruption budget
	young            int   // victims that have run for less than their minimum run time
	optedOut         bool  // a victim has no allowPreemptSelf
	originator       bool  // a victim is an originator
}

// planCostOf returns the cost of units. Each member of a group counts with the priority of the group.
func planCostOf(units []victimUnit) planCost {
	c := planCost{highestPriority: math.MinInt64}
	for i := range units {
		u := &units[i]
		n := max(len(u.group), 1)
		priority := int64(u.priority)
		c.prioritySum += (priority + 1<<31) * int64(n) // so every further victim weighs more than any difference between two
		c.victims += n
		c.budgetViolations += boolToInt(u.violatesBudget)
		c.young += n * boolToInt(u.young)
		c.optedOut, c.originator = c.optedOut || u.optedOut, c.originator || u.originator
		if priority > c.highestPriority || priority == c.highestPriority && u.startedAt < c.earliestStart {
			c.highestPriority, c.earliestStart = priority, u.startedAt
		}
	}
	return c
}

// isBetterPlan reports whether a is better than b. Fewer units beyond a disruption budget are better: a best-effort
// budget is violated only if every plan violates one (PRE-69). Then fewer young victims are (PRE-123). Then, by reason
// of priority, as in kube-scheduler: the lower highest priority, the smaller sum of priorities, fewer victims, and the
// later start of the oldest of the most important victims (PRE-55). By other reasons: no opted-out victim and no
// originator, then fewer victims with the victim order of YuniKorn, or else the criteria of priority (PRE-56). A tie is
// broken by the smaller node ID.
func (h *victimSearch) isBetterPlan(a, b *Plan) bool {
	x, y := &a.cost, &b.cost
	if order := cmp.Or(cmp.Compare(x.budgetViolations, y.budgetViolations), cmp.Compare(x.young, y.young)); order != 0 {
		return order < 0
	}
	byPriority := cmp.Or(
		cmp.Compare(x.highestPriority, y.highestPriority), cmp.Compare(x.prioritySum, y.prioritySum),
		cmp.Compare(x.victims, y.victims), cmp.Compare(y.earliestStart, x.earliestStart),
	)
	byProtection := cmp.Or(cmp.Compare(boolToInt(x.optedOut), boolToInt(y.optedOut)),
		cmp.Compare(boolToInt(x.originator), boolToInt(y.originator)))
	byNode := cmp.Compare(a.nodeIndex, b.nodeIndex) // indexes are in the order of the node IDs
	switch {
	case h.reason == ReasonPriority:
		return cmp.Or(byPriority, byNode) < 0
	case h.yunikornCompatible():
		return cmp.Or(byProtection, cmp.Compare(x.victims, y.victims), byNode) < 0
	}
	return cmp.Or(byProtection, byPriority, byNode) < 0
}
