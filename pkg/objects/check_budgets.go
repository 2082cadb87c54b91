package objects

import (
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
)

// checkBudgets matches the budgets with all allocations again, and checks the counts.
func (c *recount) checkBudgets() error {
	conf, all := c.p.conf.Budgets.All(), c.p.budgets.all
	if len(conf) != len(all) {
		return fmt.Errorf("%d budgets are configured, there are %d", len(conf), len(all))
	}
	byNamespace := map[string][]*Budget{}
	for i, b := range all {
		if !b.conf.Equal(&conf[i]) {
			return fmt.Errorf("budget %s is not as configured", b.Name())
		}
		byNamespace[b.conf.Namespace] = append(byNamespace[b.conf.Namespace], b)
	}
	selected, preempting, selectedByAny := map[*Budget]int{}, map[*Budget]int{}, 0
	for _, x := range c.p.allocations {
		var want []*Budget
		for _, b := range byNamespace[budgets.NamespaceOf(x.ask.Tags())] {
			if !x.Pending() && !x.ask.Placeholder && b.conf.Selects(x.ask.Tags()) {
				want = append(want, b)
				selected[b]++
				preempting[b] += boolToInt(c.p.Preempting(x))
			}
		}
		if !slices.Equal(c.p.BudgetsOf(x), want) {
			return fmt.Errorf("%s has %d budgets, which are not the %d that select it", x.Key(), len(c.p.BudgetsOf(x)), len(want))
		}
		selectedByAny += min(1, len(want))
	}
	for _, b := range all {
		if b.selected != selected[b] || b.preempting != preempting[b] {
			return fmt.Errorf("budget %s counts %d allocations, %d of them preempting; there are %d and %d",
				b.Name(), b.selected, b.preempting, selected[b], preempting[b])
		}
	}
	if selectedByAny != len(c.p.budgets.byAllocation) {
		return fmt.Errorf("%d allocations have budgets, %d are recorded", selectedByAny, len(c.p.budgets.byAllocation))
	}
	return nil
}
