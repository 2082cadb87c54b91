package preemption

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// SearchReport says how a search for an ask by one right went.
type SearchReport struct {
	Reason Reason
	Plan   Plan // the one that takes the least, if Found
	Found  bool

	TotalNodes     int           // in the partition
	Outcomes       OutcomeCounts // that were looked at
	Infeasible     int           // that were not, as the ask would find no room there if everybody left
	NoPlanReasons  NoPlanCounts  // of the nodes without a plan; if Across when quotas counted
	CrossNode      bool          // no node alone was enough for a quota, so nodes were compared as if there was none
	BlockingQuotas []BlockingQuota
	Best           []Plan        // the best plans that were compared, MaxBestPlans at most, the one that takes the least first
	FirstNode      *objects.Node // that was looked at; nil: none
}

// MaxBestPlans is how many plans an Inquiry has at most.
const MaxBestPlans = 10

// NoPlanReason is why nobody can leave a node so that an ask finds room there.
type NoPlanReason uint8

// The obstacles.
const (
	NoEligibleVictim   NoPlanReason = iota // the laws keep everybody on it
	TooLittleFreed                         // those who may be taken hold too little
	BlockedByGuarantee                     // guarantees keep those who would have to go
	BlockedByBudget                        // disruption budgets do
	BlockedByQuota                         // a quota or a limit would be in the way all the same
	numNoPlanReasons
)

func (o NoPlanReason) String() string {
	return [...]string{"no eligible victim", "eligible victims hold too little", "queue guarantees protect the needed victims",
		"disruption budgets protect the needed victims", "a quota blocks the ask"}[o]
}

// NoPlanCounts counts nodes.
type NoPlanCounts [numNoPlanReasons]int

// BlockingQuota is a quota that was in the way, and on how many nodes.
type BlockingQuota struct {
	objects.QuotaShortfall
	Nodes int
}

// Cost says what a plan takes, beside its victims.
func (p *Plan) Cost() (budgetViolations int, optedOut, originator bool) {
	return p.cost.budgetViolations, p.cost.optedOut, p.cost.originator
}

// Explain is Find that says how it came to its answer. It leaves nothing behind in s, so x may
// be one that nobody made. Where a search compares fewer nodes than there are because none
// to come can be better, so does this one.
func (s *Search) Explain(x *objects.Allocation, r Reason, predicates Predicates) SearchReport {
	rankings, effort := s.rankings, s.stats
	s.rankings = map[rankingKey]*nodeRanking{}
	e := reportRecorder{search: s, report: SearchReport{Reason: r, TotalNodes: len(s.part.Nodes())}}
	s.onOutcome, s.current.protected = e.recordOutcome, map[*objects.Allocation]IneligibleReason{}
	e.report.Plan, e.report.Found = s.Find(x, r, predicates)
	if e.report.Outcomes = s.outcomes; e.report.CrossNode { // those that were compared lack who runs elsewhere
		e.report.Best = nil
		if e.report.Found {
			e.report.Best = []Plan{e.report.Plan}
		}
	}
	for _, ranks := range s.rankings { // the one of x, or none
		for index := range s.cache.nodes {
			if ranks.rankAt(index) == rankInfeasible {
				e.report.Infeasible++
			}
		}
	}
	s.onOutcome, s.current.protected, s.rankings, s.stats = nil, nil, rankings, effort
	return e.report
}

// reportRecorder listens to a search.
type reportRecorder struct {
	search *Search
	report SearchReport
}

func (e *reportRecorder) recordOutcome(node *objects.Node, plan Plan, outcome NodeOutcome) {
	if e.report.FirstNode == nil {
		e.report.FirstNode = node
	}
	switch e.report.CrossNode = e.search.selector.crossNode; {
	case e.report.CrossNode: // what was in the way is known already
	case outcome == OutcomeNoPlan:
		e.recordNoPlan(&e.search.selector)
	case outcome == OutcomeCompared:
		e.keepIfBest(plan)
	}
	clear(e.search.current.protected)
}

// keepIfBest adds a plan to the best ones, if it is one of them.
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
	plan.Victims = slices.Clone(plan.Victims) // the next one is found in their place
	if e.report.Best = slices.Insert(e.report.Best, at, plan); len(e.report.Best) > MaxBestPlans {
		e.report.Best = e.report.Best[:MaxBestPlans]
	}
}

// recordNoPlan finds out why t has just found no plan. When somebody was spared, there was one
// until then.
func (e *reportRecorder) recordNoPlan(t *victimSelector) {
	o := BlockedByQuota
	switch {
	case len(e.search.current.protected) > 0:
		o = BlockedByBudget
		for _, reason := range e.search.current.protected {
			if reason == IneligibleGuarantee {
				o = BlockedByGuarantee
			}
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

func (e *reportRecorder) recordShortfalls(t *victimSelector) {
	if e.report.BlockingQuotas == nil {
		for i := range t.shortfalls {
			e.report.BlockingQuotas = append(e.report.BlockingQuotas, BlockingQuota{QuotaShortfall: t.shortfalls[i].QuotaShortfall})
		}
	}
	for i := range t.shortfalls {
		if w := &t.shortfalls[i]; !w.freed.Covers(w.Amount) {
			e.report.BlockingQuotas[i].Nodes++
		}
	}
}
