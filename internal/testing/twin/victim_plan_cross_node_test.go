package twin

import (
	"maps"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// planCrossNode plans for an ask that a quota keeps from every node: it chooses the node without the quota, and then
// preempts allocations that count in the quota, on any node.
func (t *Twin) planCrossNode(c *totals, w *allocation, reason string) (plan, bool) {
	quotas := 0
	for owner := range t.shortfalls(c, w, nil) {
		quotas += boolToInt(!strings.HasPrefix(owner, "cluster "))
	}
	if reason == "required node" || quotas == 0 {
		return plan{}, false
	}
	t.ignoreQuotas = true
	p, ok := t.bestPlan(c, w, reason)
	t.ignoreQuotas = false
	if !ok {
		return plan{}, false
	}
	var units [][]*allocation
	for _, y := range t.allocations {
		if y.node == "" || !t.eligibleVictim(c, w, y, reason) || slices.Contains(p.victims, y) {
			continue
		}
		if u := t.victimUnit(y); !slices.ContainsFunc(units, func(other []*allocation) bool { return other[0] == u[0] }) {
			units = append(units, u)
		}
	}
	slices.SortFunc(units, func(a, b []*allocation) int {
		return slices.Compare(t.victimWeight(a, w, reason), t.victimWeight(b, w, reason))
	})
	var chosen [][]*allocation
	all := func(chosen [][]*allocation) []*allocation { return slices.Concat(p.victims, slices.Concat(chosen...)) }
	for _, u := range units {
		if t.quotasAllowWithout(c, w, all(chosen)) {
			break
		}
		helps := !maps.Equal(t.shortfalls(c, w, all(chosen)), t.shortfalls(c, w, append(all(chosen), u...)))
		if helps && !t.anyProtected(c, w, u, all(chosen), reason) &&
			(t.budgetPolicy(u) != policies.BudgetsStrict || !t.exceedsBudget(all(chosen), u)) {
			chosen = append(chosen, u)
		}
	}
	if !t.quotasAllowWithout(c, w, all(chosen)) {
		return plan{}, false
	}
	slices.Reverse(chosen)
	for _, u := range slices.Clone(chosen) {
		without := slices.DeleteFunc(slices.Clone(chosen), func(v []*allocation) bool { return v[0] == u[0] })
		if t.quotasAllowWithout(c, w, all(without)) {
			chosen = without
		}
	}
	p.victims = all(chosen)
	return p, true
}
