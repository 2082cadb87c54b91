package reservation

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// candidateSearch finds the asks that may reserve a node, in selection order.
type candidateSearch struct {
	eng        *Engine
	now        time.Time
	delay      time.Duration
	left       int // how many more asks that require no node are candidates
	found      []*objects.Allocation
	reservable map[*feasibility.Shape]bool // whether an ask of the shape may reserve a node
	visited    int                         // number of ask groups
}

// candidates returns the first free+maxRefusals asks that may reserve, and all of those that require a node (RES-4).
// visited is the number of ask groups that were visited to find them.
func (eng *Engine) candidates(now time.Time, free int) (found []*objects.Allocation, visited int) {
	s := candidateSearch{
		eng: eng, now: now, delay: eng.part.Reservations().Settings().Delay, left: free + maxRefusals,
		reservable: map[*feasibility.Shape]bool{},
	}
	if free <= 0 {
		s.left = 0
	}
	for a, shapes := range eng.descent.Applications(eng.part.Root()) {
		if s.left == 0 {
			eng.descent.Narrow(eng.part.Reservations().KeepRequiredNodes)
		}
		s.of(a, shapes)
	}
	return s.found, s.visited
}

// of adds the candidates of an application. The order of its asks is not that of its groups.
func (s *candidateSearch) of(a *objects.Application, shapes feasibility.Mask) {
	var own []*objects.Allocation
	for group := range a.FeasibleAskGroups(shapes) {
		own = s.appendOf(own, group)
		s.visited++
	}
	slices.SortFunc(own, objects.CompareSelection)
	for _, x := range own {
		if x.Ask().RequiredNode() == "" {
			if s.left == 0 {
				continue
			}
			s.left--
		}
		s.found = append(s.found, x)
	}
}

// appendOf appends the candidates of a group. Nodes are looked at last, and only for asks that lack nothing else: an
// ask that is too young, was refused, or has a reservation costs no look at any node.
func (s *candidateSearch) appendOf(to []*objects.Allocation, group *objects.AskGroup) []*objects.Allocation {
	p, taken := s.eng.part, 0
	for _, x := range group.SchedulableAsks() {
		if bound := x.Ask().RequiredNode() != ""; !bound {
			if taken == s.left {
				break
			}
			if at := x.Created().Add(s.delay); s.now.Before(at) {
				s.eng.eligibleAt(at)
				break // the asks after it are younger
			}
		}
		if until, refused := s.eng.refusedUntil[x]; refused {
			s.eng.eligibleAt(until)
			continue
		}
		if p.Nomination(x) != nil || p.Reservations().Of(x) != nil {
			continue
		}
		if taken == 0 && !s.mayReserve(x) {
			break // nor may the other asks of the group
		}
		to, taken = append(to, x), taken+1
	}
	return to
}

// mayReserve reports whether asks like x, of its group, may reserve: they fit no node, they would fit one without
// allocations that may be reserved, and only the capacity of the cluster blocks them. An ask that fits a node waits for
// its turn, or the RM refuses the node.
func (s *candidateSearch) mayReserve(x *objects.Allocation) bool {
	may, known := s.reservable[x.Shape()]
	if !known {
		may = s.eng.part.FirstFittingNode(x.Shape()) == nil && s.eng.mayReserveAny(x)
		s.reservable[x.Shape()] = may
	}
	return may && x.MayBePlacedWithinCapacity()
}
