package preemption

import (
	"cmp"
	"math"
)

// planCost is what a plan takes, as far as plans are compared by it.
type planCost struct {
	highestPriority  int64 // the priority of the most important victim; without victims below any
	prioritySum      int64 // of all priorities, each counted from the lowest there is
	victims          int   // how many there are
	earliestStart    int64 // when the first of the most important victims began to run, in nanoseconds
	budgetViolations int   // how many units leave although a budget does not allow it
	optedOut         bool  // one did not agree to leave
	originator       bool  // one leads its application
}

// planCostOf adds up. A group counts member by member: who takes more is dearer.
func planCostOf(units []victimUnit) planCost {
	c := planCost{highestPriority: math.MinInt64}
	for i := range units {
		u := &units[i]
		n := max(len(u.group), 1)
		priority := int64(u.priority)
		c.prioritySum += (priority + 1<<31) * int64(n) // so every further victim weighs more than any difference between two
		c.victims += n
		c.budgetViolations += boolToInt(u.violatesBudget)
		c.optedOut, c.originator = c.optedOut || u.optedOut, c.originator || u.originator
		if priority > c.highestPriority || priority == c.highestPriority && u.startedAt < c.earliestStart {
			c.highestPriority, c.earliestStart = priority, u.startedAt
		}
	}
	return c
}

// isBetterPlan reports whether a takes less than b. First it is how many leave whom a budget does
// not allow to. By priority it is then, as in Kubernetes, the most important victim, then the
// sum of priorities, then the number of victims, then how long the most important of them have
// run (priority.md 2.4); by other rights whether anybody leaves who did not agree to, or who
// leads an application, and then the number, or if upstream is not to be followed what it
// is by priority. Last it is the name of the node.
func (h *victimSearch) isBetterPlan(a, b *Plan) bool {
	x, y := &a.cost, &b.cost
	if x.budgetViolations != y.budgetViolations {
		return x.budgetViolations < y.budgetViolations
	}
	byPriority := cmp.Or(
		cmp.Compare(x.highestPriority, y.highestPriority), cmp.Compare(x.prioritySum, y.prioritySum), cmp.Compare(x.victims, y.victims), cmp.Compare(y.earliestStart, x.earliestStart),
	)
	byProtection := cmp.Or(cmp.Compare(boolToInt(x.optedOut), boolToInt(y.optedOut)), cmp.Compare(boolToInt(x.originator), boolToInt(y.originator)))
	byNode := cmp.Compare(a.nodeIndex, b.nodeIndex) // the names of nodes, in their order
	switch {
	case h.reason == ReasonPriority:
		return cmp.Or(byPriority, byNode) < 0
	case h.yunikornCompatible():
		return cmp.Or(byProtection, cmp.Compare(x.victims, y.victims), byNode) < 0
	}
	return cmp.Or(byProtection, byPriority, byNode) < 0
}
