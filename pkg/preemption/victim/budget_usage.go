package victim

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// budgetUsage counts the victims of a plan by disruption budget (PRE-68, ADR 27). A best-effort budget may be violated,
// at a cost.
type budgetUsage struct {
	part *objects.Partition
	used map[*budgets.Tracked]int // by budget: the victims of the current plan
}

// hasNoBudgets reports whether the partition has no budget.
func (s *budgetUsage) hasNoBudgets() bool { return len(s.part.Budgets()) == 0 }

// begin starts a plan without victims.
func (s *budgetUsage) begin(p *objects.Partition) {
	s.part = p
	if s.used == nil {
		s.used = map[*budgets.Tracked]int{}
	}
	clear(s.used)
}

// charge counts u in the budgets of its members and reports whether one of them is then exceeded. If the budget policy
// of its leaf is ignore, it counts nothing.
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

// refund undoes charge.
func (s *budgetUsage) refund(u *victimUnit) {
	for _, y := range u.members() {
		for _, b := range s.part.BudgetsOf(y) {
			s.used[b]--
		}
	}
}

// forbids reports whether u would exceed a budget and its leaf is strict; a best-effort leaf lets a victim exceed its
// budget. If it does not forbid u, u is charged.
func (s *budgetUsage) forbids(u *victimUnit) bool {
	if s.hasNoBudgets() || !s.charge(u) ||
		u.first.Application().Queue().Settings().BudgetPolicy != policies.BudgetsStrict {
		return false
	}
	s.refund(u)
	return true
}

// sortViolatingFirst marks the units that would exceed a budget if all were preempted, and puts them first, so that
// they are reprieved first. The most important units use up the allowance first, as in kube-scheduler (PRE-70).
// Requires: units are sorted by importance, the most important first.
func (s *budgetUsage) sortViolatingFirst(units []victimUnit) {
	if s.hasNoBudgets() {
		return
	}
	clear(s.used)
	for i := range units {
		units[i].violatesBudget = s.charge(&units[i])
	}
	slices.SortStableFunc(units,
		func(a, b victimUnit) int { return boolToInt(b.violatesBudget) - boolToInt(a.violatesBudget) })
}
