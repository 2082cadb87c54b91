package preemption

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// spending is what victims cost the disruption budgets that are about them (ADR 27).
type spending struct {
	part *objects.Partition
	of   map[*objects.Budget]int // scratch: who is taken by the plan under way
}

// idle reports whether there is no budget at all.
func (s *spending) idle() bool { return len(s.part.Budgets()) == 0 }

func (s *spending) begin(p *objects.Partition) {
	if s.part = p; s.of == nil {
		s.of = map[*objects.Budget]int{}
	}
	clear(s.of)
}

// spend takes u from the budgets of its work, and reports whether one of them has less than
// nothing left then. The queue of the work may say that budgets do not matter.
func (s *spending) spend(u *unit) (beyond bool) {
	if u.lead.Application().Queue().Settings().Budgets == policies.BudgetsIgnored {
		return false
	}
	for _, y := range u.members() {
		for _, b := range s.part.BudgetsOf(y) {
			s.of[b]++
			beyond = beyond || s.of[b] > b.Allowed()
		}
	}
	return beyond
}

// refund undoes spend.
func (s *spending) refund(u *unit) {
	for _, y := range u.members() {
		for _, b := range s.part.BudgetsOf(y) {
			s.of[b]--
		}
	}
}

// forbids takes u from its budgets, unless its queue is strict and it would be beyond one.
func (s *spending) forbids(u *unit) bool {
	if s.idle() || !s.spend(u) || u.lead.Application().Queue().Settings().Budgets != policies.BudgetsStrict {
		return false
	}
	s.refund(u)
	return true
}

// putApart marks the units that would be beyond a budget if all left, the most important
// taken first from what is allowed, as kube-scheduler does: so who matters least is spared
// first (priority.md 2.3, SC-065). Requires: the most important comes first.
func (s *spending) putApart(off []unit) {
	if s.idle() {
		return
	}
	clear(s.of)
	for i := range off {
		off[i].beyond = s.spend(&off[i])
	}
	slices.SortStableFunc(off, func(a, b unit) int { return yes(b.beyond) - yes(a.beyond) })
}
