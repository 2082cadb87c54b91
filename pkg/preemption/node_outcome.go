package preemption

import "github.com/canopy-scheduler/canopy/pkg/objects"

// NodeOutcome is what came of looking at a node.
type NodeOutcome uint8

// What can come of it.
const (
	OutcomeNoPlan   NodeOutcome = iota // nobody can leave it so that the ask finds room
	OutcomeRejected                    // there is a plan, and the RM says no to it
	OutcomeCompared                    // its plan was compared with the best so far; the RM is asked only of better ones
	numNodeOutcomes
)

func (s NodeOutcome) String() string { return [...]string{"no plan", "refused", "compared"}[s] }

// OutcomeCounts is how many nodes a search looked at, by what came of it. It stops where nothing
// better can come, so others may not have been looked at.
type OutcomeCounts [numNodeOutcomes]int

func (s *Search) recordOutcome(n *objects.Node, plan Plan, outcome NodeOutcome) {
	s.outcomes[outcome]++
	if s.onOutcome != nil {
		s.onOutcome(n, plan, outcome)
	}
}

// Candidate is an allocation on a node where room is made, and what becomes of it.
type Candidate struct {
	*objects.Allocation
	Ineligible IneligibleReason // that keeps it; Eligible: none does
	Victim     bool             // else it stays, also if no law keeps it: room is made without it
}

// Candidates says of everybody on the node of a plan what becomes of them, in key order. A plan
// without victims is taken for the one that there would be for its node. Requires: the plan was
// not carried out yet.
func (s *Search) Candidates(plan Plan) []Candidate {
	h := &s.current
	h.begin(s.part, plan.Ask, plan.Reason)
	h.protected = map[*objects.Allocation]IneligibleReason{}
	s.selector.begin(h)
	if selected, found := s.selector.selectVictimsOnNode(plan.Node); found && len(plan.Victims) == 0 {
		plan.Victims = selected.Victims
	}
	out := make([]Candidate, 0, len(plan.Victims))
	for _, y := range plan.Node.Allocations() {
		reason := h.ineligibleReason(y)
		if spared, ok := h.protected[y]; ok {
			reason = spared
		}
		out = append(out, Candidate{Allocation: y, Ineligible: reason})
	}
	h.protected = nil
	victims := make(map[*objects.Allocation]bool, len(plan.Victims))
	for _, y := range plan.Victims {
		victims[y] = true
	}
	for i := range out {
		out[i].Victim = victims[out[i].Allocation]
	}
	return out
}

// protectionOf is the law that keeps u when all those go too who are off.
func (t *victimSelector) protectionOf(u *victimUnit) IneligibleReason {
	switch {
	case t.protectedByGuarantee(u):
		return IneligibleGuarantee
	case t.budgets.forbids(u):
		return IneligibleBudget
	}
	return Eligible
}

// noteProtected notes that u is spared, if somebody wants to know.
func (h *victimSearch) noteProtected(u *victimUnit, reason IneligibleReason) {
	if h.protected != nil {
		for _, y := range u.members() {
			h.protected[y] = reason
		}
	}
}
