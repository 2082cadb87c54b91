package objects

import "github.com/canopy-scheduler/canopy/pkg/budgets"

// Disruption budgets: an allocation is matched when it is bound and when budgets change.
//
// Placeholders do not count (PRE-66): as available members they would let real allocations be
// preempted. Allocations with a required node count, although they are never victims (PRE-23).

// Budgets are the budgets in force, by namespace and then by name. Read-only.
func (p *Partition) Budgets() []*budgets.Tracked { return p.budgets.All() }

// BudgetsOf are the budgets that select y, in name order; none if y is pending. The caller heeds
// the disruption.budgets property of the queue. Read-only.
func (p *Partition) BudgetsOf(y *Allocation) []*budgets.Tracked { return p.budgets.Of(y) }

// SelectedByBudget reports whether a budget would select x once it is bound.
func SelectedByBudget(p *Partition, x *Allocation) bool { return p.budgets.Selects(x.ask.Tags()) }

// applyBudgets puts the configured budgets in force and matches all allocations again (PRE-71).
func (p *Partition) applyBudgets() {
	for x := range p.budgets.Each {
		p.journal.post(Change{Kind: NodeBudgetsChanged, Node: x.node})
	}
	all := p.conf.Budgets.All()
	p.budgets = budgets.NewTracker[*Allocation](all)
	if len(all) == 0 {
		return
	}
	for _, x := range p.allocations {
		if !x.Pending() {
			p.countInBudgets(x)
			p.budgets.CountPreempting(x, boolToInt(p.Preempting(x)))
		}
	}
}

// countInBudgets counts x in the budgets that select it. Requires: x was just bound.
func (p *Partition) countInBudgets(x *Allocation) {
	if !x.ask.Placeholder && p.budgets.Add(x, x.ask.Tags()) {
		p.journal.post(Change{Kind: NodeBudgetsChanged, Node: x.node})
	}
}
