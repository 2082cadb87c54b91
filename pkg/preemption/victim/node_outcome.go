package victim

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// NodeOutcome is the outcome of a node that a search tried.
type NodeOutcome uint8

// The outcomes of a node.
const (
	OutcomeNoPlan   NodeOutcome = iota // no eligible victims make the ask fit
	OutcomeRejected                    // the RM rejects every plan for it
	OutcomeCompared                    // its plan was compared with the best one; the RM is asked about better plans only
)

func (s NodeOutcome) String() string { return [...]string{"no plan", "rejected", "compared"}[s] }

// NodeOutcomes counts the nodes that a search tried, by outcome. A search ends when no better plan is possible, so
// nodes may be missing.
type NodeOutcomes struct {
	Compared int `json:"compared"` // nodes with a plan
	NoPlan   int `json:"noPlan"`   // nodes without a plan
	Rejected int `json:"rejected"` // nodes whose predicates rejected the ask
}

func (s *Search) recordOutcome(n *objects.Node, plan Plan, outcome NodeOutcome) {
	*[...]*int{OutcomeNoPlan: &s.outcomes.NoPlan, OutcomeRejected: &s.outcomes.Rejected,
		OutcomeCompared: &s.outcomes.Compared}[outcome]++
	if s.onOutcome != nil {
		s.onOutcome(n, plan, outcome)
	}
}

// Candidate is an allocation on the node of a plan, and whether it is preempted (PRE-110).
type Candidate struct {
	*objects.Allocation
	Ineligible IneligibleReason // the check that it fails; Eligible: none
	Victim     bool             // an eligible allocation that is no victim is not needed
	YoungUntil time.Time        // when it may be one, if IneligibleYoung
}

// Candidates returns all allocations on the node of a plan, in key order (PRE-110). For a plan without victims it marks
// the victims that a plan for its node would have. Requires: the plan was not carried out yet.
func (s *Search) Candidates(plan Plan) []Candidate {
	s.current.begin(s.part, plan.Ask, plan.Reason)
	return s.candidates(plan, len(plan.Victims) == 0 || s.current.mayProtect(plan.Node))
}

// candidates returns Candidates. Without selecting it selects no victims: the plan must have some, and no guarantee and
// no budget may protect an allocation on its node.
func (s *Search) candidates(plan Plan, selecting bool) []Candidate {
	h := &s.current
	if selecting {
		h.protected = map[*objects.Allocation]IneligibleReason{}
		s.selector.begin(h)
		if selected, found := s.selector.selectVictimsOnNode(plan.Node); found && len(plan.Victims) == 0 {
			plan.Victims = selected.Victims
		}
	}
	for _, y := range plan.Victims {
		s.victims[y] = true
	}
	allocations := plan.Node.Allocations()
	out := make([]Candidate, len(allocations))
	for i, y := range allocations {
		reason := h.ineligibleReason(y)
		if spared, ok := h.protected[y]; ok {
			reason = spared
		}
		out[i] = Candidate{Allocation: y, Ineligible: reason, Victim: s.victims[y]}
		if reason == IneligibleYoung {
			out[i].YoungUntil = h.youngUntil(y)
		}
	}
	h.protected = nil
	clear(s.victims)
	return out
}

// mayProtect reports whether a guarantee, a fair share or a budget could protect an allocation on n. If not, a
// selection of victims on n would record nothing. The members of a victim group are in one leaf.
func (h *victimSearch) mayProtect(n *objects.Node) bool {
	if len(h.part.Budgets()) > 0 || h.reason == ReasonFairShare {
		return true
	}
	for y := range n.EachAllocation {
		leaf := y.Application().Queue()
		if g := h.eligibility(leaf); h.reason != ReasonRequiredNode && g.ineligible == Eligible &&
			h.hasGuaranteeBelow(leaf, g.commonAncestor) {
			return true
		}
	}
	return false
}

// protectionOf returns the reason why u stays when t.victims are released: a guarantee, a fair share or a strict
// budget. If nothing protects u, it is charged to its budgets.
func (t *victimSelector) protectionOf(u *victimUnit) IneligibleReason {
	switch {
	case t.protectedByGuarantee(u):
		return IneligibleGuarantee
	case t.search.reason == ReasonFairShare && t.search.protectedByFairShare(u, t.victims):
		return IneligibleFairShare
	case t.budgets.forbids(u):
		return IneligibleBudget
	}
	return Eligible
}

// noteProtected records for reports why u stays; without a report it does nothing.
func (h *victimSearch) noteProtected(u *victimUnit, reason IneligibleReason) {
	if h.protected != nil {
		for _, y := range u.members() {
			h.protected[y] = reason
		}
	}
}
