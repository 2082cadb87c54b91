package victim

import (
	"maps"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/preemption/fairshare"
)

// Plan is a proved way to place an ask by preemption. A plan without victims means that the ask fits the node
// now, or will fit it when the allocations that are preempting already have ended (PRE-74).
type Plan struct {
	Ask       *objects.Allocation
	Reason    Reason
	Node      *objects.Node
	Victims   []*objects.Allocation // most important first; on other nodes only for a group or a quota (PRE-54)
	Outcomes  NodeOutcomes          // of the nodes that the search tried
	cost      planCost
	nodeIndex int // of the node in the node cache
}

// Predicates asks the resource manager whether an ask may run on a node without the victims (PRE-47). nil: every node
// is accepted.
type Predicates func(x *objects.Allocation, n *objects.Node, victims []*objects.Allocation) bool

// DefaultCandidateNodes bounds the plans that are compared, unless NewSearch has another number (PRE-57). It
// is the number of nodes that kube-scheduler dry-runs at least.
const DefaultCandidateNodes = 100

// maxNodeRankings bounds the kinds of asks (shape and priority) whose node rankings are kept (PRE-99).
const maxNodeRankings = 64

// Search finds victims for asks of one partition. It caches node summaries and node rankings: the cost of a search
// grows with the nodes that changed since the last one and the nodes that it tries (PRE-99).
type Search struct {
	part              *objects.Partition
	maxCandidateNodes int
	cache             nodeCache
	rankings          map[rankingKey]*nodeRanking
	freeRankings      []*nodeRanking // dropped rankings, for their memory
	current           victimSearch
	selector          victimSelector
	stats             SearchStats
	nearbyNodes       nodeHeap                     // scratch
	victims           map[*objects.Allocation]bool // of the plan in Candidates

	outcomes  NodeOutcomes // of the last Find
	onOutcome func(n *objects.Node, plan Plan, s NodeOutcome)
}

// CoolDowns says which leaves may not preempt each other (PRE-105).
type CoolDowns interface {
	// CoolingDown reports whether two leaves, in any order, are in a cool-down.
	CoolingDown(a, b objects.QueuePath) bool
}

// NewSearch returns a Search in the partition of shares that compares at most maxCandidateNodes plans for an ask; 0:
// DefaultCandidateNodes. nil stands for no cool-downs. It follows the changes of the partition from now on.
func NewSearch(shares *fairshare.Shares, maxCandidateNodes int, coolDowns CoolDowns) *Search {
	p := shares.Partition()
	if maxCandidateNodes <= 0 {
		maxCandidateNodes = DefaultCandidateNodes
	}
	s := &Search{part: p, maxCandidateNodes: maxCandidateNodes, cache: nodeCache{part: p},
		rankings: map[rankingKey]*nodeRanking{}, victims: map[*objects.Allocation]bool{},
		current: victimSearch{coolDowns: coolDowns, shares: shares}}
	objects.Attach(p, &s.cache)
	return s
}

// At sets the time of the next searches, which decides who is young (PRE-123), and returns s.
func (s *Search) At(now time.Time) *Search {
	s.current.ages.now = now.UnixNano()
	return s
}

// NextYoungEnd returns when the first of the young candidates that the last search met no longer is young: a search
// then may find other victims. The zero time: it met none.
func (s *Search) NextYoungEnd() time.Time { return s.current.ages.nextYoungEnd() }

// Find returns the best plan for x by reason r (PRE-54 to PRE-64). ok is false when there is none. predicates may be
// nil.
//
// It tries nodes in the order of their rank, or of their ID with the victim order of YuniKorn. It ends when no better
// plan is possible (PRE-58), or when the maximum number of plans was compared; while the best plan violates a budget,
// neither ends it, and while it has young victims, the rank does not (PRE-57, PRE-123). If a quota blocks the ask and
// no node alone has enough victims, it adds victims on other nodes (PRE-62).
func (s *Search) Find(x *objects.Allocation, r Reason, predicates Predicates) (best Plan, ok bool) {
	s.current.begin(s.part, x, r)
	s.selector.begin(&s.current)
	s.stats.Searches++
	s.outcomes = NodeOutcomes{}
	best, ok = s.findOnOneNode(predicates)
	if !ok && r != ReasonRequiredNode && s.selector.needsOtherNodes() {
		s.outcomes = NodeOutcomes{}
		best, ok = s.findAcrossNodes(predicates)
	}
	best.Outcomes = s.outcomes
	return best, ok
}

// findOnOneNode returns the best plan whose victims run on the node of the plan, victim groups excepted.
func (s *Search) findOnOneNode(predicates Predicates) (best Plan, ok bool) {
	x, r := s.current.ask, s.current.reason
	tryNode := func(index int) {
		s.stats.NodesTried++
		n := s.cache.nodes[index]
		plan, found, exact := s.selector.minimalVictims(&s.cache, index)
		if !exact {
			plan, found = s.selector.selectVictimsOnNode(n)
		}
		if !found {
			s.recordOutcome(n, plan, OutcomeNoPlan)
			return
		}
		plan.nodeIndex = index
		better := !ok || s.current.isBetterPlan(&plan, &best)
		if better && exact {
			plan.Victims = s.selector.minimalVictimList()
		}
		if better && predicates != nil && !predicates(x, n, plan.Victims) {
			if exact { // reselectForPredicates needs every eligible allocation removed
				s.selector.selectVictimsOnNode(n)
			}
			plan, found = s.selector.reselectForPredicates(predicates)
			if !found {
				s.recordOutcome(n, plan, OutcomeRejected)
				return
			}
			plan.nodeIndex = index
			better = !ok || s.current.isBetterPlan(&plan, &best)
		}
		s.recordOutcome(n, plan, OutcomeCompared)
		if better {
			plan.Victims = append(best.Victims[:0], plan.Victims...)
			best, ok = plan, true
		}
	}
	s.cache.sync()
	s.current.resetLeafCache(&s.cache)
	if r == ReasonRequiredNode {
		if n, known := s.part.Node(x.Ask().RequiredNode()); known && x.Shape().Admits(n.Constraints()) {
			tryNode(s.cache.indexOf[n])
		}
		return best, ok
	}
	ranks := s.rankingFor(x)
	for index := range s.candidateNodes(ranks) {
		if ok && best.cost.budgetViolations == 0 &&
			(s.outcomes.Compared >= s.maxCandidateNodes ||
				best.cost.young == 0 && s.current.cannotImprove(&best, ranks, index)) {
			break
		}
		tryNode(index)
	}
	return best, ok
}

// cannotImprove reports whether no node from index on can have a better plan than best (PRE-58).
func (h *victimSearch) cannotImprove(best *Plan, ranks *nodeRanking, index int) bool {
	unprotected := !best.cost.optedOut && !best.cost.originator
	switch {
	case h.reason == ReasonPriority:
		return ranks.rankAt(index) > best.cost.highestPriority
	case !h.yunikornCompatible():
		return unprotected && ranks.rankAt(index) > best.cost.highestPriority
	case ranks.lowest() == rankFits: // a node may need no victim
		return unprotected && best.cost.victims == 0
	}
	return unprotected && best.cost.victims <= 1 // of equal plans the lower node ID wins
}

// rankingFor returns the node ranking for asks of the shape and priority of x, up to date. When there are too many
// kinds, all are dropped.
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

// newRanking returns an empty ranking; its first sync fills it.
func (s *Search) newRanking() *nodeRanking {
	r := &nodeRanking{}
	if n := len(s.freeRankings); n > 0 {
		r, s.freeRankings = s.freeRankings[n-1], s.freeRankings[:n-1]
	}
	r.rebuilds = -1
	return r
}

// candidateNodes yields the indexes of the nodes to try, in order. Where few nodes have allocations in scope,
// these are the nodes (PRE-100).
func (s *Search) candidateNodes(ranks *nodeRanking) func(yield func(index int) bool) {
	if isFew := s.collectNearby(ranks); isFew && !s.selector.crossNode {
		return s.nearbyNodes.each
	}
	if s.current.yunikornCompatible() {
		return ranks.byIndex
	}
	return ranks.byRank
}

// collectNearby fills s.nearbyNodes with the nodes that have allocations in scope, preempting allocations or
// nominated asks, infeasible ones excepted (PRE-100). isFew is false when there are too many of them.
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

// victimScope returns the highest queue whose allocations may be victims of the ask.
func (s *Search) victimScope() *objects.Queue {
	h := &s.current
	if home := h.ask.Application().Queue(); h.reason == ReasonPriority &&
		home.Settings().PriorityPreemption == policies.PriorityPreemptionLeaf {
		return home
	}
	return h.scope
}

// gatherNodes adds the nodes with allocations below q, some of them several times. It returns false when there
// are more than maxNodes, or so many allocations below q that listing them costs more than trying all nodes.
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
