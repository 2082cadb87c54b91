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
	conf     *budgets.Budget
	place    int       // among all
	alone    []*Budget // just this one, for all that no other selects
	selected int       // allocations
	leaving  int       // of these, told to leave
}

// Name is namespace/name.
func (b *Budget) Name() string { return b.conf.ID() }

// Config is what the configuration says about it. Read-only.
func (b *Budget) Config() *budgets.Budget { return b.conf }

// Selected is how many allocations it is about, those included that were told to leave.
func (b *Budget) Selected() int { return b.selected }

// Leaving is how many of these were told to leave.
func (b *Budget) Leaving() int { return b.leaving }

// Allowed is how many more may be told to leave now; negative when too many were, or when
// fewer run than must.
func (b *Budget) Allowed() int { return b.conf.Allowance.Left(b.selected, b.leaving) }

// guards are the budgets in force.
type guards struct {
	all   []*Budget                 // by namespace, then by name
	under map[string]*shelf         // by namespace
	of    map[*Allocation][]*Budget // who is selected by some, and by which, in name order
}

// Budgets are the budgets in force, by namespace and then by name. Read-only.
func (p *Partition) Budgets() []*Budget { return p.guards.all }

// BudgetsOf are the budgets that are about y, in name order: none unless y has a node. What the
// queue of y thinks of budgets (configs.Settings) is for the caller. Read-only.
func (p *Partition) BudgetsOf(y *Allocation) []*Budget {
	if len(p.guards.of) == 0 {
		return nil
	}
	return p.guards.of[y]
}

// useBudgets puts the budgets of the configuration in force: all allocations are looked at
// anew.
func (p *Partition) useBudgets() {
	for x := range p.guards.of {
		p.touch(x.node)
	}
	p.guards = guards{under: map[string]*shelf{}, of: map[*Allocation][]*Budget{}}
	all := p.conf.Budgets.All()
	for i := range all {
		b := &Budget{conf: &all[i], place: i}
		b.alone = []*Budget{b}
		p.guards.all = append(p.guards.all, b)
		p.guards.put(b)
	}
	if len(all) == 0 {
		return
	}
	for _, x := range p.work {
		if !x.Pending() {
			p.guard(x)
			p.countLeaving(x, count(p.Leaving(x)))
		}
	}
}

// guard puts x in the books of the budgets that select it. Requires: x has just got its node.
func (p *Partition) guard(x *Allocation) {
	if len(p.guards.all) == 0 || x.ask.Placeholder || len(x.ask.Tags) == 0 {
		return
	}
	s := p.guards.under[budgets.NamespaceOf(x.ask.Tags)]
	if s == nil {
		return
	}
	found := s.selecting(x.ask.Tags)
	for _, b := range found {
		b.selected++
	}
	if len(found) > 0 {
		p.guards.of[x] = found
		p.touch(x.node)
	}
}

// unguard takes x out of the books again. Requires: x is not counted as leaving any more.
func (p *Partition) unguard(x *Allocation) {
	for _, b := range p.BudgetsOf(x) {
		b.selected--
	}
	delete(p.guards.of, x)
}

// countLeaving notes that x was told to leave, or that this is over.
func (p *Partition) countLeaving(x *Allocation, n int) {
	for _, b := range p.BudgetsOf(x) {
		b.leaving += n
	}
}
