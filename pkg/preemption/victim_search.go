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
	Ask       *objects.Allocation
	Reason    Reason
	Node      *objects.Node
	Victims   []*objects.Allocation // the one that should stay longest first; of a group also on other nodes
	Outcomes  OutcomeCounts         // the nodes that were looked at before it was chosen
	cost      planCost
	nodeIndex int // of the node in the roll
}

// Predicates is asked whether an ask may run on a node that victims have left. Nil: it may.
type Predicates func(x *objects.Allocation, n *objects.Node, victims []*objects.Allocation) bool

// DefaultCandidateNodes is how many nodes are compared at most, if nobody says otherwise. It is what
// kube-scheduler compares at least (priority.md 2.2).
const DefaultCandidateNodes = 100

// maxNodeRankings is how many kinds of asks are remembered.
const maxNodeRankings = 64

// Search finds victims for asks of one partition. It keeps in mind what it found out about
// nodes: a look costs what has changed since the last one, and the nodes it compares.
type Search struct {
	part              *objects.Partition
	maxCandidateNodes int
	cache             nodeCache
	rankings          map[rankingKey]*nodeRanking
	freeRankings      []*nodeRanking // forgotten: their memory is used again
	current           victimSearch
	selector          victimSelector
	stats             SearchStats
	nearbyNodes       nodeHeap // scratch

	outcomes  OutcomeCounts // of the last Find
	onOutcome func(n *objects.Node, plan Plan, s NodeOutcome)
}

// NewSearch returns a Search that compares at most so many nodes for an ask; 0: Candidates.
// Of churn it heeds the pauses; nil: there are none. There is one Search for a partition: what
// has changed is told only once.
func NewSearch(p *objects.Partition, maxCandidateNodes int, cycles *CycleDetector) *Search {
	if maxCandidateNodes <= 0 {
		maxCandidateNodes = DefaultCandidateNodes
	}
	return &Search{part: p, maxCandidateNodes: maxCandidateNodes, cache: nodeCache{part: p}, rankings: map[rankingKey]*nodeRanking{}, current: victimSearch{cycles: cycles}}
}

// Find looks for the plan that takes the least. ok is false when there is none: then
// nobody need leave.
//
// Nodes are looked at in the order of their rank, or of their ID for a guarantee as upstream
// upholds it, until none to come can be better. If nobody leaves beyond a budget, it also ends
// when so many have been compared. Where a quota is in the way and no node alone has enough
// to give, some of those may leave who run elsewhere.
func (s *Search) Find(x *objects.Allocation, r Reason, predicates Predicates) (best Plan, ok bool) {
	s.current.begin(s.part, x, r)
	s.selector.begin(&s.current)
	s.stats.Searches++
	s.outcomes = OutcomeCounts{}
	if best, ok = s.findOnOneNode(predicates); !ok && r != ReasonRequiredNode && s.selector.needsOtherNodes() {
		s.outcomes = OutcomeCounts{}
		best, ok = s.findAcrossNodes(predicates)
	}
	best.Outcomes = s.outcomes
	return best, ok
}

// findOnOneNode is the best plan in which everybody leaves one node.
func (s *Search) findOnOneNode(predicates Predicates) (best Plan, ok bool) {
	x, r := s.current.ask, s.current.reason
	tryNode := func(index int) {
		s.stats.NodesTried++
		n := s.cache.nodes[index]
		plan, found, sure := s.selector.minimalVictims(&s.cache, index)
		if !sure {
			plan, found = s.selector.selectVictimsOnNode(n)
		}
		if !found {
			s.recordOutcome(n, plan, OutcomeNoPlan)
			return
		}
		plan.nodeIndex = index
		if predicates != nil && (!ok || s.current.isBetterPlan(&plan, &best)) && !predicates(x, n, plan.Victims) {
			if sure { // it takes all who may be taken to see who else the RM wants gone
				s.selector.selectVictimsOnNode(n)
			}
			if plan, found = s.selector.reselectForPredicates(predicates); !found {
				s.recordOutcome(n, plan, OutcomeRejected)
				return
			}
		}
		plan.nodeIndex = index
		s.recordOutcome(n, plan, OutcomeCompared)
		if !ok || s.current.isBetterPlan(&plan, &best) {
			plan.Victims = slices.Clone(plan.Victims)
			best, ok = plan, true
		}
	}
	s.cache.sync()
	s.current.resetLeafCache(&s.cache)
	if r == ReasonRequiredNode {
		if n, known := s.part.Node(x.Ask().RequiredNode); known {
			tryNode(s.cache.indexOf[n])
		}
		return best, ok
	}
	ranks := s.rankingFor(x)
	for index := range s.candidateNodes(ranks) {
		if ok && best.cost.budgetViolations == 0 && (s.outcomes[OutcomeCompared] >= s.maxCandidateNodes || s.current.cannotImprove(&best, ranks, index)) {
			break
		}
		tryNode(index)
	}
	return best, ok
}

// cannotImprove reports whether no node from place on can be better than best.
func (h *victimSearch) cannotImprove(best *Plan, ranks *nodeRanking, index int) bool {
	kinds := !best.cost.optedOut && !best.cost.originator
	switch {
	case h.reason == ReasonPriority:
		return ranks.rankAt(index) > best.cost.highestPriority
	case !h.yunikornCompatible():
		return kinds && ranks.rankAt(index) > best.cost.highestPriority
	case ranks.lowest() == rankFits: // there may be a node that needs no victim
		return kinds && best.cost.victims == 0
	}
	return kinds && best.cost.victims <= 1 // the others have later names
}

// rankingFor is the one for asks like x, up to date.
func (s *Search) rankingFor(x *objects.Allocation) *nodeRanking {
	key := rankingKey{x.Shape(), x.Ask().Priority}
	r := s.rankings[key]
	if r == nil {
		if len(s.rankings) >= maxNodeRankings {
			s.freeRankings = slices.AppendSeq(s.freeRankings, maps.Values(s.rankings))
			clear(s.rankings)
		}
		r = s.newRanking()
		s.rankings[key] = r
	}
	r.sync(&s.cache, x)
	return r
}

// newRanking is one that is not up to date with anything.
func (s *Search) newRanking() *nodeRanking {
	r := &nodeRanking{}
	if n := len(s.freeRankings); n > 0 {
		r, s.freeRankings = s.freeRankings[n-1], s.freeRankings[:n-1]
	}
	r.rebuilds = -1
	return r
}

// candidateNodes are the nodes to look at, in turn. Where there is little work in reach of x, these
// are the nodes that it is on.
func (s *Search) candidateNodes(ranks *nodeRanking) func(yield func(index int) bool) {
	if isFew := s.collectNearby(ranks); isFew && !s.selector.crossNode {
		return s.nearbyNodes.each
	}
	if s.current.yunikornCompatible() {
		return ranks.byIndex
	}
	return ranks.byRank
}

// collectNearby readies s.near with all nodes with work in reach, and those that wait for somebody,
// but for those that are hopeless. few is false when there is too much of it.
func (s *Search) collectNearby(ranks *nodeRanking) (isFew bool) {
	s.nearbyNodes = s.nearbyNodes[:0]
	if !s.gatherNodes(s.victimScope(), len(s.cache.nodes)/8) {
		return false
	}
	for _, n := range s.part.NodesInPreemption() {
		s.nearbyNodes = append(s.nearbyNodes, rankedNode{index: int32(s.cache.indexOf[n])})
	}
	feasible := s.nearbyNodes[:0]
	for _, t := range s.nearbyNodes {
		rank := ranks.rankAt(int(t.index))
		if rank == rankInfeasible {
			continue
		}
		if !s.current.yunikornCompatible() {
			t.rank = rank
		}
		feasible = append(feasible, t)
	}
	s.nearbyNodes = feasible
	return true
}

// victimScope is the highest queue below which the ask may take somebody.
func (s *Search) victimScope() *objects.Queue {
	h := &s.current
	if home := h.ask.Application().Queue(); h.reason == ReasonPriority && home.Settings().PriorityPreemption == policies.PriorityPreemptionLeaf {
		return home
	}
	return h.scope
}

// gatherNodes adds the places with work below q, some of them several times. It reports false when
// there are more than most, or so many leaves that asking them is dearer than asking the nodes.
func (s *Search) gatherNodes(q *objects.Queue, maxNodes int) bool {
	switch {
	case q == s.current.guaranteedQueue || q.BoundCount() == 0:
		return true
	case !q.Leaf() && len(s.nearbyNodes)+q.BoundCount() > maxNodes:
		return false
	}
	for _, child := range q.Children() {
		if !s.gatherNodes(child, maxNodes) {
			return false
		}
	}
	leafIndex, known := s.cache.leafIndex[q]
	if !known {
		return true
	}
	nodes := s.cache.nodesOfLeaf[leafIndex]
	s.stats.NodesListed += uint64(len(nodes))
	for _, index := range nodes {
		s.nearbyNodes = append(s.nearbyNodes, rankedNode{index: index})
	}
	return len(s.nearbyNodes) <= maxNodes
}
