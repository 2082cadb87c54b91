package twin

import (
	"maps"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// planAcross is for one whom a quota keeps from every node: the node is chosen as if there was
// none, and then those leave who are in the way of the quota, wherever they run.
func (t *Twin) planAcross(c *counts, w *work, right string) (plan, bool) {
	quotas := 0
	for whose := range t.stillMissing(c, w, nil) {
		quotas += yes(!strings.HasPrefix(whose, "cluster "))
	}
	if right == "required node" || quotas == 0 {
		return plan{}, false
	}
	t.anyQuota = true
	p, ok := t.bestPlan(c, w, right)
	t.anyQuota = false
	if !ok {
		return plan{}, false
	}
	var units [][]*work
	for _, y := range t.work {
		if y.node == "" || !t.mayTake(c, w, y, right) || slices.Contains(p.victims, y) {
			continue
		}
		if u := t.unit(y); !slices.ContainsFunc(units, func(other []*work) bool { return other[0] == u[0] }) {
			units = append(units, u)
		}
	}
	slices.SortFunc(units, func(a, b []*work) int { return slices.Compare(t.weight(a, w, right), t.weight(b, w, right)) })
	var off [][]*work
	all := func(off [][]*work) []*work { return slices.Concat(p.victims, slices.Concat(off...)) }
	for _, u := range units {
		if t.allowedWithout(c, w, all(off)) {
			break
		}
		helps := !maps.Equal(t.stillMissing(c, w, all(off)), t.stillMissing(c, w, append(all(off), u...)))
		if helps && !t.anySpared(c, w, u, all(off)) &&
			(t.thinksOfBudgets(u) != policies.BudgetsStrict || !t.overBudget(all(off), u)) {
			off = append(off, u)
		}
	}
	if !t.allowedWithout(c, w, all(off)) {
		return plan{}, false
	}
	slices.Reverse(off)
	for _, u := range slices.Clone(off) {
		without := slices.DeleteFunc(slices.Clone(off), func(v []*work) bool { return v[0] == u[0] })
		if t.allowedWithout(c, w, all(without)) {
			off = without
		}
	}
	p.victims = all(off)
	return p, true
}
