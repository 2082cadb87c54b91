package victim

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/quota"
)

// SearchReport explains the result of a search for an ask by one reason (PRE-115).
type SearchReport struct {
	Reason Reason
	Plan   Plan // the best one, if Found
	Found  bool

	TotalNodes    int                  // in the partition
	Outcomes      NodeOutcomes         // of the nodes that were tried
	Infeasible    int                  // nodes on which the ask does not fit with every candidate released; not tried
	NoPlanReasons map[NoPlanReason]int // of the nodes without a plan; with CrossNode as long as quotas counted
	YoungUntil    time.Time            // when the first minimum run time ends that is such a reason; zero: none is
	// no node alone was enough for a quota: nodes were compared without quotas (PRE-62)
	CrossNode      bool
	BlockingQuotas []BlockingQuota
	Best           []Plan        // the best plans that were compared, at most MaxBestPlans, the best first
	FirstNode      *objects.Node // the first node that was tried; nil: none
}

// MaxBestPlans bounds the plans of a SearchReport.
const MaxBestPlans = 10

// NoPlanReason says why a node that was tried has no plan (PRE-115).
type NoPlanReason string

// The reasons why a node has no plan.
const (
	NoEligibleVictim    NoPlanReason = "no eligible victim"
	TooLittleFreed      NoPlanReason = "eligible victims hold too little"
	BlockedByGuarantee  NoPlanReason = "queue guarantees protect the needed victims"
	BlockedByFairShare  NoPlanReason = "fair shares protect the needed victims" // (PRE-130, PRE-131)
	BlockedByBudget     NoPlanReason = "disruption budgets protect the needed victims"
	BlockedByMinRuntime NoPlanReason = "minimum run times protect the needed victims" // (PRE-124)
	// the queue whose guarantee entitles the ask would exceed it there (PRE-121)
	NeedsMoreThanGuaranteed NoPlanReason = "victims are needed in a resource beyond the guarantee"
	BlockedByQuota          NoPlanReason = "a quota blocks the ask" // or a limit, even without the eligible allocations
)

// BlockingQuota is a quota that blocked the ask, and on how many nodes.
type BlockingQuota struct {
	quota.Shortfall
	Nodes int
}

// Cost returns the cost of p besides its victims: the number of units beyond a disruption budget, the number of victims
// that have run for less than their minimum run time, and whether a victim opted out or is an originator.
func (p *Plan) Cost() (budgetViolations, young int, optedOut, originator bool) {
	return p.cost.budgetViolations, p.cost.young, p.cost.optedOut, p.cost.originator
}

// Explain does what Find does, with a report, and ends where Find would end. It keeps nothing in s, so x may be a
// hypothetical ask.
func (s *Search) Explain(x *objects.Allocation, r Reason, predicates Predicates) SearchReport {
	rankings, effort := s.rankings, s.stats
	s.rankings = map[rankingKey]*nodeRanking{}
	e := reportRecorder{search: s, report: SearchReport{Reason: r, TotalNodes: len(s.part.Nodes()),
		NoPlanReasons: map[NoPlanReason]int{}}}
	s.onOutcome, s.current.protected = e.recordOutcome, map[*objects.Allocation]IneligibleReason{}
	e.report.Plan, e.report.Found = s.Find(x, r, predicates)
	e.report.Outcomes = s.outcomes
	if e.report.CrossNode { // the plans that were compared lack the victims on other nodes
		e.report.Best = nil
		if e.report.Found {
			e.report.Best = []Plan{e.report.Plan}
		}
	}
	for _, ranks := range s.rankings { // at most the ranking for x
		for index := range s.cache.nodes {
			if ranks.rankAt(index) == rankInfeasible {
				e.report.Infeasible++
			}
		}
	}
	s.onOutcome, s.current.protected, s.rankings, s.stats = nil, nil, rankings, effort
	return e.report
}

// reportRecorder fills a report while a search runs.
type reportRecorder struct {
	search *Search
	report SearchReport
}

// recordOutcome is called for each node that the search tried.
func (e *reportRecorder) recordOutcome(node *objects.Node, plan Plan, outcome NodeOutcome) {
	if e.report.FirstNode == nil {
		e.report.FirstNode = node
	}
	switch e.report.CrossNode = e.search.selector.crossNode; {
	case e.report.CrossNode: // the blocking quotas are recorded already
	case outcome == OutcomeNoPlan:
		e.recordNoPlan(&e.search.selector)
	case outcome == OutcomeCompared:
		e.keepIfBest(plan)
	}
	clear(e.search.current.protected)
}

// keepIfBest adds a plan to the best plans, if it is one of them.
func (e *reportRecorder) keepIfBest(plan Plan) {
	at, _ := slices.BinarySearchFunc(e.report.Best, &plan, func(a Plan, b *Plan) int {
		if e.search.current.isBetterPlan(&a, b) {
			return -1
		}
		return 1
	})
	if at == MaxBestPlans {
		return
	}
	plan.Victims = slices.Clone(plan.Victims) // the selector reuses the slice
	e.report.Best = slices.Insert(e.report.Best, at, plan)
	if len(e.report.Best) > MaxBestPlans {
		e.report.Best = e.report.Best[:MaxBestPlans]
	}
}

// recordNoPlan records why t has just found no plan. If a guarantee, a fair share or a budget protected a unit, the ask
// would fit without that unit, so the protection is the reason.
func (e *reportRecorder) recordNoPlan(t *victimSelector) {
	o := BlockedByQuota
	switch {
	case t.needsMoreThanGuaranteed(): // t has removed nothing
		o = NeedsMoreThanGuaranteed
	case len(e.search.current.protected) > 0:
		o = BlockedByBudget
		for _, reason := range e.search.current.protected {
			switch {
			case reason == IneligibleGuarantee:
				o = BlockedByGuarantee
			case reason == IneligibleFairShare && o == BlockedByBudget:
				o = BlockedByFairShare
			}
		}
	case t.waitsForYoung():
		o = BlockedByMinRuntime
		if e.report.YoungUntil.IsZero() || t.youngEnd.Before(e.report.YoungUntil) {
			e.report.YoungUntil = t.youngEnd
		}
	case len(t.removable) == 0:
		o = NoEligibleVictim
	case !t.free.Covers(t.search.ask.Shape().Vector()):
		o = TooLittleFreed
	default:
		e.recordShortfalls(t)
	}
	e.report.NoPlanReasons[o]++
}

// recordShortfalls counts the node for each quota that still blocks the ask.
func (e *reportRecorder) recordShortfalls(t *victimSelector) {
	if e.report.BlockingQuotas == nil {
		for i := range t.shortfalls {
			e.report.BlockingQuotas = append(e.report.BlockingQuotas, BlockingQuota{Shortfall: t.shortfalls[i].Shortfall})
		}
	}
	for i := range t.shortfalls {
		if w := &t.shortfalls[i]; !w.freed.Covers(w.Amount) {
			e.report.BlockingQuotas[i].Nodes++
		}
	}
}
