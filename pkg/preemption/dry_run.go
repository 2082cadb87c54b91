package preemption

import (
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// DryRun finds the victims that an ask would get now, and why. It changes nothing: no accounting, no back-off and no
// later decision (PRE-113).
type DryRun struct {
	eng        *Engine
	ask        DryRunAsk
	lastSearch victim.SearchReport // by the preemption reason that was tried last
	report     DryRunReport
}

// DryRunAsk is the ask of a DryRun. It may be hypothetical.
type DryRunAsk struct {
	*objects.Allocation
	Now        time.Time
	EntitledAt time.Time                                // the time for which entitlements are computed
	AmountsOf  func(resources.Vector) resources.Amounts // names resources, including those that only the ask has
	KnownToRM  bool                                     // the RM knows the ask, so it is asked for predicates (PRE-117)
}

// NewDryRun begins a dry run with the entitlements of the ask.
func (eng *Engine) NewDryRun(ask DryRunAsk) *DryRun {
	s := &DryRun{eng: eng, ask: ask}
	s.report.Entitlements = eng.EntitlementValues(ask.Allocation, ask.EntitledAt)
	return s
}

// EntitledReasons returns the reasons by which x is entitled to preempt, as the function does.
func (eng *Engine) EntitledReasons(x *objects.Allocation, now time.Time) (reasons []victim.Reason, due time.Time) {
	return EntitledReasons(eng.shares, x, now)
}

// EntitlementValues returns Entitlements as values, by reason, without that of the fair share if no queue shares
// fairly.
func (eng *Engine) EntitlementValues(x *objects.Allocation, now time.Time) (out []Entitlement) {
	p := eng.part
	for _, entitlement := range Entitlements(eng.shares, x, now) {
		if entitlement.Reason == victim.ReasonFairShare && !eng.shares.Enabled() {
			continue
		}
		v := Entitlement{Reason: entitlement.Reason, NotEntitled: entitlement.NotEntitled,
			Due: objects.TimestampOf(entitlement.Due)}
		if entitlement.Queue != nil {
			v.Queue = entitlement.Queue.Path()
		}
		if v.Reason == victim.ReasonGuarantee &&
			(v.NotEntitled == Entitled || v.NotEntitled == NotEntitledAboveGuarantee) {
			v.compareGuarantee(p, x, entitlement.Queue)
		}
		if entitlement.Side != nil {
			v.compareShares(p, entitlement.Side)
		}
		v.Entitled = v.NotEntitled == Entitled
		out = append(out, v)
	}
	return out
}

// compareGuarantee sets in which resources q, whose guarantee may entitle x, exceeds its guarantee with x, and in which
// it does not (PRE-114, PRE-121). A nominated ask that exceeds it only together with its own nomination is entitled
// (PRE-14).
func (v *Entitlement) compareGuarantee(p *objects.Partition, x *objects.Allocation, q *objects.Queue) {
	over, within := q.Quota().OverGuarantee(x.Shape().Vector(), p.Nomination(x) != nil)
	for _, o := range over {
		v.Over = append(v.Over, OverGuarantee{p.ResourceName(o.Resource), o.Guaranteed, o.Used, o.Requested})
	}
	slices.SortFunc(v.Over, func(a, b OverGuarantee) int { return strings.Compare(a.Resource, b.Resource) })
	if len(over) == 0 ||
		len(within) > 0 && q.Settings().PreemptionGuarantee == policies.PreemptionGuaranteeLacking {
		v.NotEntitled = Entitled
		return
	}
	for _, k := range within {
		v.Lacking = append(v.Lacking, p.ResourceName(k))
	}
	slices.Sort(v.Lacking)
}

// compareShares sets what the side of the ask holds, and its fair share, of the resources that count (PRE-129).
func (v *Entitlement) compareShares(p *objects.Partition, f *victim.FairSide) {
	v.Side = f.Name
	for k := range p.Capacity() {
		k := resources.Index(k)
		if share, contested := f.Share(k); contested {
			v.Shares = append(v.Shares, FairShare{p.ResourceName(k), resources.Quantity(share), f.Held.At(k)})
		}
	}
	slices.SortFunc(v.Shares, func(a, b FairShare) int { return strings.Compare(a.Resource, b.Resource) })
}

// Search searches victims by each reason for which the ask is entitled, until there is a plan, as an evaluation does.
func (s *DryRun) Search() (plan victim.Plan, found bool) {
	for _, r := range s.reasons() {
		if s.searchFor(r) {
			return s.lastSearch.Plan, true
		}
	}
	return plan, false
}

// Report returns the findings of the dry run, with the candidates of a node; an empty node stands for that of the plan.
func (s *DryRun) Report(node objects.NodeID) DryRunReport {
	s.explainNode(node)
	return s.report
}

// Searches returns the searches for victims that an evaluation of x would make if x were entitled as of entitledAt,
// without asking the RM: one for each reason for which it is entitled, up to the first with a plan. Nothing is changed.
func (eng *Engine) Searches(x *objects.Allocation, now, entitledAt time.Time) []VictimSearch {
	s := eng.NewDryRun(DryRunAsk{Allocation: x, Now: now, EntitledAt: entitledAt, AmountsOf: eng.part.Amounts})
	s.Search()
	return s.report.Searches
}

func (s *DryRun) reasons() []victim.Reason {
	reasons, _ := EntitledReasons(s.eng.shares, s.ask.Allocation, s.ask.EntitledAt)
	return reasons
}

// searchFor searches for victims by one preemption reason, and reports whether there is a plan.
func (s *DryRun) searchFor(r victim.Reason) bool {
	predicates := s.eng.checkAllocations
	if s.ask.KnownToRM {
		predicates = s.eng.checkPredicates
	}
	s.lastSearch = s.eng.search().At(s.ask.EntitledAt).Explain(s.ask.Allocation, r, predicates)
	s.report.Searches = append(s.report.Searches, s.viewSearch(&s.lastSearch))
	if s.lastSearch.Found {
		s.report.Victims, s.report.MoreVictims = listVictims(s.lastSearch.Plan.Victims, s.ask.Now)
	}
	return s.lastSearch.Found
}

// explainNode lists the candidates of the node with an ID; without one, of the node of the plan; without a plan, of the
// first node that was searched.
func (s *DryRun) explainNode(id objects.NodeID) {
	plan := victim.Plan{Ask: s.ask.Allocation, Reason: s.lastSearch.Reason, Node: s.lastSearch.FirstNode}
	if reasons := s.reasons(); len(reasons) == 0 {
		return // the ask may not preempt, so no allocation is a candidate
	} else if len(s.report.Searches) == 0 {
		plan.Reason = reasons[0]
	}
	if s.lastSearch.Found {
		plan = s.lastSearch.Plan
	}
	if n, ok := s.eng.part.Node(id); ok && n != plan.Node {
		plan = victim.Plan{Ask: s.ask.Allocation, Reason: plan.Reason, Node: n}
	}
	if plan.Node == nil {
		return
	}
	s.report.CandidatesNode, s.report.CandidatesReason = plan.Node.ID(), plan.Reason
	s.report.Candidates, s.report.MoreCandidates = listCandidates(s.eng.search().At(s.ask.EntitledAt).Candidates(plan))
}

func (s *DryRun) viewSearch(report *victim.SearchReport) VictimSearch {
	nodes := report.Outcomes
	v := VictimSearch{
		Reason: report.Reason, Found: report.Found, TotalNodes: report.TotalNodes, NodeOutcomes: &nodes,
		Infeasible: report.Infeasible, NoPlanReasons: report.NoPlanReasons, CrossNode: report.CrossNode,
		YoungUntil:   objects.TimestampOf(report.YoungUntil),
		NotEvaluated: report.TotalNodes - report.Infeasible - nodes.Compared - nodes.NoPlan - nodes.Rejected,
	}
	for i := range report.BlockingQuotas {
		w := &report.BlockingQuotas[i]
		if w.Nodes == 0 {
			continue // the quota is not the obstacle: the eligible allocations of all nodes free enough
		}
		v.BlockingQuotas = append(v.BlockingQuotas,
			BlockingQuota{Verdict: s.eng.host.ConstraintVerdict(w.Constraint), Nodes: w.Nodes,
				Shortfall: withoutNegative(s.ask.AmountsOf(w.Amount))})
	}
	for i := range report.Best {
		p := Plan{Node: report.Best[i].Node.ID()}
		p.Victims, p.MoreVictims = listVictims(report.Best[i].Victims, s.ask.Now)
		p.BudgetViolations, p.Young, p.OptedOut, p.Originator = report.Best[i].Cost()
		v.BestPlans = append(v.BestPlans, p)
	}
	return v
}
