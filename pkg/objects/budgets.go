package objects

import "github.com/canopy-scheduler/canopy/pkg/budgets"

// Disruption budgets: which allocations each selects, and how many of these are preempting (ADR
// 27). An allocation is matched when it is bound and when budgets change, and is recorded only if a
// budget selects it, so that allocations without budgets cost nothing.
//
// Placeholders do not count (PRE-66): as available members they would let real allocations be
// preempted. Allocations with a required node count, although they are never victims (PRE-23).

// Budget is a disruption budget with its allocations in one partition. It is valid until budgets
// change.
type Budget struct {
	conf       *budgets.Budget
	index      int       // in budgetsInForce.all
	asList     []*Budget // this budget alone, for allocations that no other selects
	selected   int       // number of allocations
	preempting int       // number of these that are preempting
}

// Name is namespace/name.
func (b *Budget) Name() string { return b.conf.ID() }

// Config is the configured budget. Read-only.
func (b *Budget) Config() *budgets.Budget { return b.conf }

// Selected is how many allocations the budget selects, preempting ones included.
func (b *Budget) Selected() int { return b.selected }

// Preempting is how many of these are marked for preemption.
func (b *Budget) Preempting() int { return b.preempting }

// DisruptionsAllowed is how many more may be preempted now; negative if too many were, or fewer run
// than must (PRE-67).
func (b *Budget) DisruptionsAllowed() int {
	return b.conf.Allowance.DisruptionsAllowed(b.selected, b.preempting)
}

// budgetsInForce are the budgets in force.
type budgetsInForce struct {
	all          []*Budget                 // by namespace, then by name
	byNamespace  map[string]*budgetIndex   // by namespace
	byAllocation map[*Allocation][]*Budget // those that a budget selects, with their budgets in name order
}

// Budgets are the budgets in force, by namespace and then by name. Read-only.
func (p *Partition) Budgets() []*Budget { return p.budgets.all }

// BudgetsOf are the budgets that select y, in name order; none if y is pending. The caller heeds
// the disruption.budgets property of the queue. Read-only.
func (p *Partition) BudgetsOf(y *Allocation) []*Budget {
	if len(p.budgets.byAllocation) == 0 {
		return nil
	}
	return p.budgets.byAllocation[y]
}

// applyBudgets puts the configured budgets in force and matches all allocations again (PRE-71).
func (p *Partition) applyBudgets() {
	for x := range p.budgets.byAllocation {
		p.journal.nodeBudgetsChanged(x.node)
	}
	p.budgets = budgetsInForce{byNamespace: map[string]*budgetIndex{}, byAllocation: map[*Allocation][]*Budget{}}
	all := p.conf.Budgets.All()
	for i := range all {
		b := &Budget{conf: &all[i], index: i}
		b.asList = []*Budget{b}
		p.budgets.all = append(p.budgets.all, b)
		p.budgets.add(b)
	}
	if len(all) == 0 {
		return
	}
	for _, x := range p.allocations {
		if !x.Pending() {
			p.countInBudgets(x)
			p.countPreempting(x, boolToInt(p.Preempting(x)))
		}
	}
}

// countInBudgets counts x in the budgets that select it. Requires: x was just bound.
func (p *Partition) countInBudgets(x *Allocation) {
	if len(p.budgets.all) == 0 || x.ask.Placeholder || len(x.ask.Tags()) == 0 {
		return
	}
	s := p.budgets.byNamespace[budgets.NamespaceOf(x.ask.Tags())]
	if s == nil {
		return
	}
	found := s.selecting(x.ask.Tags())
	for _, b := range found {
		b.selected++
	}
	if len(found) > 0 {
		p.budgets.byAllocation[x] = found
		p.journal.nodeBudgetsChanged(x.node)
	}
}

// uncountInBudgets reverts countInBudgets. Requires: x is not counted as preempting.
func (p *Partition) uncountInBudgets(x *Allocation) {
	for _, b := range p.BudgetsOf(x) {
		b.selected--
	}
	delete(p.budgets.byAllocation, x)
}

// countPreempting adds n to the preempting allocations of the budgets of x.
func (p *Partition) countPreempting(x *Allocation, n int) {
	for _, b := range p.BudgetsOf(x) {
		b.preempting += n
	}
}
