package twin

import (
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// budgetUsage returns the allocations that a budget selects, and how many of them are terminating.
// Placeholders are not selected.
func (t *Twin) budgetUsage(b *budgets.Budget) (all, leaving int) {
	for _, w := range t.allocations {
		if w.node == "" || w.ask.Placeholder || !budgetSelects(b, w.ask.Tags()) {
			continue
		}
		all++
		if w.preempting {
			leaving++
		}
	}
	return all, leaving
}

func budgetSelects(b *budgets.Budget, tags map[string]string) bool {
	namespace, labels := "default", map[string]string{}
	for name, value := range tags {
		if name == "kubernetes.io/meta/namespace" && value != "" {
			namespace = value
		}
		if key, ok := strings.CutPrefix(name, "kubernetes.io/label/"); ok {
			labels[key] = value
		}
	}
	wanted, asked := b.Selector.Labels(), b.Selector.Expressions()
	if namespace != b.Namespace || len(labels) == 0 || len(wanted)+len(asked) == 0 {
		return false
	}
	for key, value := range wanted {
		if has, there := labels[key]; !there || has != value {
			return false
		}
	}
	for _, e := range asked {
		value, there := labels[e.Key]
		among := false
		for _, v := range e.Values {
			among = among || there && v == value
		}
		switch {
		case e.Operator == budgets.In && !among, e.Operator == budgets.NotIn && among,
			e.Operator == budgets.Exists && !there, e.Operator == budgets.DoesNotExist && there:
			return false
		}
	}
	return true
}

// disruptionsAllowed returns how many more of the allocations may be preempted.
func disruptionsAllowed(a budgets.Allowance, all, leaving int) int {
	n := int(a.N)
	if a.Percent {
		for n = 0; n*100 < all*int(a.N); n++ { // rounded up
		}
	}
	switch a.Kind {
	case budgets.MinAvailable:
		return all - n - leaving
	case budgets.MaxUnavailable, budgets.Allowed:
		return n - leaving
	}
	panic("twin: a budget of no kind")
}

func (d *comparison) budgets(views []scheduler.BudgetView) {
	if !same(d, "partition", "budgets", len(d.t.budgets), len(views)) {
		return
	}
	for i := range d.t.budgets {
		b, v := &d.t.budgets[i], &views[i]
		all, leaving := d.t.budgetUsage(b)
		same(d, b.ID(), "budget", b.ID(), v.Budget.ID())
		same(d, b.ID(), "selected", all, v.Selected)
		same(d, b.ID(), "leaving", leaving, v.Preempting)
		same(d, b.ID(), "allowed", disruptionsAllowed(b.Allowance, all, leaving), v.Allowed)
	}
}
