package preemption

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// budgetUsage is what victims cost the disruption budgets that are about them (ADR 27).
type budgetUsage struct {
	part *objects.Partition
	used map[*objects.Budget]int // scratch: who is taken by the plan under way
}

// hasNoBudgets reports whether there is no budget at all.
func (s *budgetUsage) hasNoBudgets() bool { return len(s.part.Budgets()) == 0 }

func (s *budgetUsage) begin(p *objects.Partition) {
	if s.part = p; s.used == nil {
		s.used = map[*objects.Budget]int{}
	}
	clear(s.used)
}

// charge takes u from the budgets of its work, and reports whether one of them has less than
// nothing left then. The queue of the work may say that budgets do not matter.
func (s *budgetUsage) charge(u *victimUnit) (violates bool) {
	if u.first.Application().Queue().Settings().BudgetPolicy == policies.BudgetsIgnored {
		return false
	}
	for _, y := range u.members() {
		for _, b := range s.part.BudgetsOf(y) {
			s.used[b]++
			violates = violates || s.used[b] > b.DisruptionsAllowed()
		}
	}
	return violates
}

// refund undoes spend.
func (s *budgetUsage) refund(u *victimUnit) {
	for _, y := range u.members() {
		for _, b := range s.part.BudgetsOf(y) {
			s.used[b]--
		}
	}
}

// forbids takes u from its budgets, unless its queue is strict and it would be beyond one.
func (s *budgetUsage) forbids(u *victimUnit) bool {
	if s.hasNoBudgets() || !s.charge(u) || u.first.Application().Queue().Settings().BudgetPolicy != policies.BudgetsStrict {
		return false
	}
	s.refund(u)
	return true
}

// sortViolatingFirst marks the units that would be beyond a budget if all left, the most important
// taken first from what is allowed, as kube-scheduler does: so who matters least is spared
// first (priority.md 2.3, SC-065). Requires: the most important comes first.
func (s *budgetUsage) sortViolatingFirst(units []victimUnit) {
	if s.hasNoBudgets() {
		return
	}
	clear(s.used)
	for i := range units {
		units[i].violatesBudget = s.charge(&units[i])
	}
	slices.SortStableFunc(units, func(a, b victimUnit) int { return boolToInt(b.violatesBudget) - boolToInt(a.violatesBudget) })
}
