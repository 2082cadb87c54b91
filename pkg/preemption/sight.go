package preemption

import "github.com/canopy-scheduler/canopy/pkg/objects"

// Sight is what came of looking at a node.
type Sight uint8

// What can come of it.
const (
	NoPlan   Sight = iota // nobody can leave it so that the ask finds room
	Refused               // there is a plan, and the RM says no to it
	Compared              // its plan was compared with the best so far; the RM is asked only of better ones
	sights
)

func (s Sight) String() string { return [...]string{"no plan", "refused", "compared"}[s] }

// Seen is how many nodes a search looked at, by what came of it. It stops where nothing
// better can come, so others may not have been looked at.
type Seen [sights]int

func (s *Search) saw(n *objects.Node, plan Plan, what Sight) {
	s.seen[what]++
	if s.watch != nil {
		s.watch(n, plan, what)
	}
}

// Candidate is an allocation on a node where room is made, and what becomes of it.
type Candidate struct {
	*objects.Allocation
	Law    Law  // that keeps it; MayBeTaken: none does
	Victim bool // else it stays, also if no law keeps it: room is made without it
}

// Candidates says of everybody on the node of a plan what becomes of them, in key order. A plan
// without victims is taken for the one that there would be for its node. Requires: the plan was
// not carried out yet.
func (s *Search) Candidates(plan Plan) []Candidate {
	h := &s.hunt
	h.begin(s.part, plan.Ask, plan.Right)
	h.kept = map[*objects.Allocation]Law{}
	s.trim.begin(h)
	if there, found := s.trim.onNode(plan.Node); found && len(plan.Victims) == 0 {
		plan.Victims = there.Victims
	}
	out := make([]Candidate, 0, len(plan.Victims))
	for _, y := range plan.Node.Work() {
		law := h.law(y)
		if spared, ok := h.kept[y]; ok {
			law = spared
		}
		out = append(out, Candidate{Allocation: y, Law: law})
	}
	h.kept = nil
	victims := make(map[*objects.Allocation]bool, len(plan.Victims))
	for _, y := range plan.Victims {
		victims[y] = true
	}
	for i := range out {
		out[i].Victim = victims[out[i].Allocation]
	}
	return out
}

// keeps is the law that keeps u when all those go too who are off.
func (t *trim) keeps(u *unit) Law {
	switch {
	case t.spared(u):
		return IsGuaranteed
	case t.spending.forbids(u):
		return IsBudgeted
	}
	return MayBeTaken
}

// keep notes that u is spared, if somebody wants to know.
func (h *hunt) keep(u *unit, law Law) {
	if h.kept != nil {
		for _, y := range u.members() {
			h.kept[y] = law
		}
	}
}
