package objects

import (
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
)

// budgets checks which budgets each allocation has by asking them anew, and what is added up
// from that.
func (c *recount) budgets() error {
	conf, all := c.p.conf.Budgets.All(), c.p.guards.all
	if len(conf) != len(all) {
		return fmt.Errorf("%d budgets are configured, there are %d", len(conf), len(all))
	}
	under := map[string][]*Budget{}
	for i, b := range all {
		if !b.conf.Equal(&conf[i]) {
			return fmt.Errorf("budget %s is not as configured", b.Name())
		}
		under[b.conf.Namespace] = append(under[b.conf.Namespace], b)
	}
	selected, leaving, guarded := map[*Budget]int{}, map[*Budget]int{}, 0
	for _, x := range c.p.work {
		var want []*Budget
		for _, b := range under[budgets.NamespaceOf(x.ask.Tags)] {
			if !x.Pending() && !x.ask.Placeholder && b.conf.Selects(x.ask.Tags) {
				want = append(want, b)
				selected[b]++
				leaving[b] += count(c.p.Leaving(x))
			}
		}
		if !slices.Equal(c.p.BudgetsOf(x), want) {
			return fmt.Errorf("%s has %d budgets, or others than the %d that select it", x.Key(), len(c.p.BudgetsOf(x)), len(want))
		}
		guarded += min(1, len(want))
	}
	for _, b := range all {
		if b.selected != selected[b] || b.leaving != leaving[b] {
			return fmt.Errorf("budget %s counts %d allocations, %d of them leaving; there are %d and %d",
				b.Name(), b.selected, b.leaving, selected[b], leaving[b])
		}
	}
	if guarded != len(c.p.guards.of) {
		return fmt.Errorf("%d allocations have budgets, %d are known to", guarded, len(c.p.guards.of))
	}
	return nil
}
