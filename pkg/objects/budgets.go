package objects

import "github.com/canopy-scheduler/canopy/pkg/budgets"

// The books of disruption budgets: which allocations each is about, and how many of these were
// told to leave (ADR 27). Most work has none and pays nothing for them: an allocation is looked
// at when it gets its node and when other budgets come into force, and remembered only if some
// budget selects it.
//
// Placeholders are in no book: nothing depends on them, and counted as available they would let
// real work leave. What needs a certain node counts like any other, although nobody takes it.

// Budget is a disruption budget with the work of one partition that it is about. It is good
// until other budgets come into force.
type Budget struct {
	conf       *budgets.Budget
	index      int       // among all
	asList     []*Budget // just this one, for all that no other selects
	selected   int       // allocations
	preempting int       // of these, told to leave
}

// Name is namespace/name.
func (b *Budget) Name() string { return b.conf.ID() }

// Config is what the configuration says about it. Read-only.
func (b *Budget) Config() *budgets.Budget { return b.conf }

// Selected is how many allocations it is about, those included that were told to leave.
func (b *Budget) Selected() int { return b.selected }

// Preempting is how many of these were told to leave.
func (b *Budget) Preempting() int { return b.preempting }

// DisruptionsAllowed is how many more may be told to leave now; negative when too many were, or when
// fewer run than must.
func (b *Budget) DisruptionsAllowed() int {
	return b.conf.Allowance.DisruptionsAllowed(b.selected, b.preempting)
}

// budgetsInForce are the budgets in force.
type budgetsInForce struct {
	all          []*Budget                 // by namespace, then by name
	byNamespace  map[string]*budgetIndex   // by namespace
	byAllocation map[*Allocation][]*Budget // who is selected by some, and by which, in name order
}

// Budgets are the budgets in force, by namespace and then by name. Read-only.
func (p *Partition) Budgets() []*Budget { return p.budgets.all }

// BudgetsOf are the budgets that are about y, in name order: none unless y has a node. What the
// queue of y thinks of budgets (configs.Settings) is for the caller. Read-only.
func (p *Partition) BudgetsOf(y *Allocation) []*Budget {
	if len(p.budgets.byAllocation) == 0 {
		return nil
	}
	return p.budgets.byAllocation[y]
}

// applyBudgets puts the budgets of the configuration in force: all allocations are looked at
// anew.
func (p *Partition) applyBudgets() {
	for x := range p.budgets.byAllocation {
		p.markNodeChanged(x.node)
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

// countInBudgets puts x in the books of the budgets that select it. Requires: x has just got its node.
func (p *Partition) countInBudgets(x *Allocation) {
	if len(p.budgets.all) == 0 || x.ask.Placeholder || len(x.ask.Tags) == 0 {
		return
	}
	s := p.budgets.byNamespace[budgets.NamespaceOf(x.ask.Tags)]
	if s == nil {
		return
	}
	found := s.selecting(x.ask.Tags)
	for _, b := range found {
		b.selected++
	}
	if len(found) > 0 {
		p.budgets.byAllocation[x] = found
		p.markNodeChanged(x.node)
	}
}

// uncountInBudgets takes x out of the books again. Requires: x is not counted as leaving any more.
func (p *Partition) uncountInBudgets(x *Allocation) {
	for _, b := range p.BudgetsOf(x) {
		b.selected--
	}
	delete(p.budgets.byAllocation, x)
}

// countPreempting notes that x was told to leave, or that this is over.
func (p *Partition) countPreempting(x *Allocation, n int) {
	for _, b := range p.BudgetsOf(x) {
		b.preempting += n
	}
}
