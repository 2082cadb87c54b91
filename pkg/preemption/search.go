package preemption

import (
	"maps"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// Plan is a way to make room for an ask. Without victims there is room already, or there
// will be when those have gone who were told to.
type Plan struct {
	Ask     *objects.Allocation
	Right   Right
	Node    *objects.Node
	Victims []*objects.Allocation // the one that should stay longest first; of a group also on other nodes
	Seen    Seen                  // the nodes that were looked at before it was chosen
	cost    cost
	place   int // of the node in the roll
}

// Judge is asked whether an ask may run on a node that victims have left. Nil: it may.
type Judge func(x *objects.Allocation, n *objects.Node, victims []*objects.Allocation) bool

// Candidates is how many nodes are compared at most, if nobody says otherwise. It is what
// kube-scheduler compares at least (priority.md 2.2).
const Candidates = 100

// maxRankings is how many kinds of asks are remembered.
const maxRankings = 64

// Search finds victims for asks of one partition. It keeps in mind what it found out about
// nodes: a look costs what has changed since the last one, and the nodes it compares.
type Search struct {
	part     *objects.Partition
	most     int
	roll     roll
	rankings map[want]*ranking
	spare    []*ranking // forgotten: their memory is used again
	hunt     hunt
	trim     trim
	effort   Effort
	near     queueOfPlaces // scratch

	seen  Seen // of the last Find
	watch func(n *objects.Node, plan Plan, s Sight)
}

// NewSearch returns a Search that compares at most so many nodes for an ask; 0: Candidates.
// Of churn it heeds the pauses; nil: there are none. There is one Search for a partition: what
// has changed is told only once.
func NewSearch(p *objects.Partition, most int, churn *Churn) *Search {
	if most <= 0 {
		most = Candidates
	}
	return &Search{part: p, most: most, roll: roll{part: p}, rankings: map[want]*ranking{}, hunt: hunt{churn: churn}}
}

// Find looks for the plan that takes the least. ok is false when there is none: then
// nobody need leave.
//
// Nodes are looked at in the order of their rank, or of their ID for a guarantee as upstream
// upholds it, until none to come can be better. If nobody leaves beyond a budget, it also ends
// when so many have been compared. Where a quota is in the way and no node alone has enough
// to give, some of those may leave who run elsewhere.
func (s *Search) Find(x *objects.Allocation, r Right, judge Judge) (best Plan, ok bool) {
	s.hunt.begin(s.part, x, r)
	s.trim.begin(&s.hunt)
	s.effort.Looks++
	s.seen = Seen{}
	if best, ok = s.oneNode(judge); !ok && r != OfNode && s.trim.walled() {
		s.seen = Seen{}
		best, ok = s.acrossNodes(judge)
	}
	best.Seen = s.seen
	return best, ok
}

// oneNode is the best plan in which everybody leaves one node.
func (s *Search) oneNode(judge Judge) (best Plan, ok bool) {
	x, r := s.hunt.x, s.hunt.right
	try := func(place int) {
		s.effort.Tried++
		n := s.roll.nodes[place]
		plan, found, sure := s.trim.least(&s.roll, place)
		if !sure {
			plan, found = s.trim.onNode(n)
		}
		if !found {
			s.saw(n, plan, NoPlan)
			return
		}
		plan.place = place
		if judge != nil && (!ok || s.hunt.better(&plan, &best)) && !judge(x, n, plan.Victims) {
			if sure { // it takes all who may be taken to see who else the RM wants gone
				s.trim.onNode(n)
			}
			if plan, found = s.trim.onNodeFor(judge); !found {
				s.saw(n, plan, Refused)
				return
			}
		}
		plan.place = place
		s.saw(n, plan, Compared)
		if !ok || s.hunt.better(&plan, &best) {
			plan.Victims = slices.Clone(plan.Victims)
			best, ok = plan, true
		}
	}
	s.roll.sync()
	s.hunt.know(&s.roll)
	if r == OfNode {
		if n, known := s.part.Node(x.Ask().RequiredNode); known {
			try(s.roll.place[n])
		}
		return best, ok
	}
	ranks := s.ranking(x)
	for place := range s.places(ranks) {
		if ok && best.cost.beyond == 0 && (s.seen[Compared] >= s.most || s.hunt.settled(&best, ranks, place)) {
			break
		}
		try(place)
	}
	return best, ok
}

// settled reports whether no node from place on can be better than best.
func (h *hunt) settled(best *Plan, ranks *ranking, place int) bool {
	kinds := !best.cost.opposed && !best.cost.leads
	switch {
	case h.right == OfPriority:
		return ranks.of(place) > best.cost.top
	case !h.compatible():
		return kinds && ranks.of(place) > best.cost.top
	case ranks.lowest() == roomy: // there may be a node that needs no victim
		return kinds && best.cost.victims == 0
	}
	return kinds && best.cost.victims <= 1 // the others have later names
}

// ranking is the one for asks like x, up to date.
func (s *Search) ranking(x *objects.Allocation) *ranking {
	key := want{x.Shape(), x.Ask().Priority}
	r := s.rankings[key]
	if r == nil {
		if len(s.rankings) >= maxRankings {
			s.spare = slices.AppendSeq(s.spare, maps.Values(s.rankings))
			clear(s.rankings)
		}
		r = s.blankRanking()
		s.rankings[key] = r
	}
	r.sync(&s.roll, x)
	return r
}

// blankRanking is one that is not up to date with anything.
func (s *Search) blankRanking() *ranking {
	r := &ranking{}
	if n := len(s.spare); n > 0 {
		r, s.spare = s.spare[n-1], s.spare[:n-1]
	}
	r.made = -1
	return r
}

// places are the nodes to look at, in turn. Where there is little work in reach of x, these
// are the nodes that it is on.
func (s *Search) places(ranks *ranking) func(yield func(place int) bool) {
	if few := s.nearby(ranks); few && !s.trim.anywhere {
		return s.near.each
	}
	if s.hunt.compatible() {
		return ranks.byPlace
	}
	return ranks.byRank
}

// nearby readies s.near with all nodes with work in reach, and those that wait for somebody,
// but for those that are hopeless. few is false when there is too much of it.
func (s *Search) nearby(ranks *ranking) (few bool) {
	s.near = s.near[:0]
	if !s.gather(s.from(), len(s.roll.nodes)/8) {
		return false
	}
	for _, n := range s.part.Disturbed() {
		s.near = append(s.near, turn{place: int32(s.roll.place[n])})
	}
	kept := s.near[:0]
	for _, t := range s.near {
		rank := ranks.of(int(t.place))
		if rank == hopeless {
			continue
		}
		if !s.hunt.compatible() {
			t.rank = rank
		}
		kept = append(kept, t)
	}
	s.near = kept
	return true
}

// from is the highest queue below which the ask may take somebody.
func (s *Search) from() *objects.Queue {
	h := &s.hunt
	if home := h.x.Application().Queue(); h.right == OfPriority && home.Settings().PrioritySwap == policies.PrioritySwapLeaf {
		return home
	}
	return h.top
}

// gather adds the places with work below q, some of them several times. It reports false when
// there are more than most, or so many leaves that asking them is dearer than asking the nodes.
func (s *Search) gather(q *objects.Queue, most int) bool {
	switch {
	case q == s.hunt.owed || q.Bound() == 0:
		return true
	case !q.Leaf() && len(s.near)+q.Bound() > most:
		return false
	}
	for _, child := range q.Children() {
		if !s.gather(child, most) {
			return false
		}
	}
	number, known := s.roll.number[q]
	if !known {
		return true
	}
	places := s.roll.works[number]
	s.effort.Listed += uint64(len(places))
	for _, place := range places {
		s.near = append(s.near, turn{place: place})
	}
	return len(s.near) <= most
}
