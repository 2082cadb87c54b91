package scheduler

import (
	"errors"
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// ErrWouldBeRejected is the error of a dry run for an ask that a submission would reject.
var ErrWouldBeRejected = errors.New("the ask would be rejected")

// DryRun evaluates an ask as if it were submitted now, and changes nothing: no accounting, no back-off and
// no later decision (PRE-113). Errors: ErrWouldBeRejected with the reason; objects.ErrUnknown for an
// unknown key or node. The RM is asked only about pending asks, because it knows no others (PRE-117).
func (c *Core) DryRun(h DryRunRequest, now time.Time) (*DryRunResult, error) {
	c.part.RefreshShares()
	s := dryRunState{c: c, now: now, request: h, result: &DryRunResult{At: now}}
	if err := s.findOrCreateAsk(); err != nil {
		return nil, err
	}
	s.decide()
	return s.result, nil
}

// dryRunState is a DryRun in progress.
type dryRunState struct {
	c              *Core
	now            time.Time
	request        DryRunRequest
	ask            *objects.Allocation
	mustStartFirst *objects.Application // the application of a StateAware leaf that starts first; nil: none
	amountsOf      func(resources.Vector) resources.Amounts
	predicates     victim.Predicates
	lastSearch     victim.SearchReport // by the preemption reason that was tried last
	result         *DryRunResult
}

// findOrCreateAsk finds the pending ask of the request, or makes a hypothetical one (PRE-117).
func (s *dryRunState) findOrCreateAsk() error {
	if s.request.Node != "" {
		if _, ok := s.c.part.Node(s.request.Node); !ok {
			return fmt.Errorf("%w node %s", objects.ErrUnknown, s.request.Node)
		}
	}
	if s.request.Ask == nil {
		x, ok := s.c.part.Allocation(s.request.Key)
		if !ok || !x.Pending() {
			return fmt.Errorf("%w pending ask %s", objects.ErrUnknown, s.request.Key)
		}
		s.ask, s.amountsOf, s.predicates, s.result.Pending = x, s.c.part.Amounts, s.c.checkPredicates, true
		if a := x.Application(); !a.StateAwareAllows() {
			s.mustStartFirst = a.Queue().FirstStarting()
		}
	} else {
		x, err := s.c.part.NewHypotheticalAsk(s.request.Class, s.request.Ask, s.request.Applicant, s.now)
		if err = errors.Join(s.c.mayNameClass(s.request.NamedClass), wellFormed(s.request.Ask), err); err != nil {
			return fmt.Errorf("%w: %w", ErrWouldBeRejected, err)
		}
		s.ask, s.amountsOf, s.mustStartFirst = x.Allocation, x.Amounts, x.MustStartFirst
		if u := s.ask.Application().User(); s.request.AllowedUsers != nil && !s.request.AllowedUsers.Allows(u) {
			return fmt.Errorf("%w: %w", ErrWouldBeRejected, needsPermission(s.request.Class, u))
		}
	}
	s.result.Ask = preemptorOf(s.ask)
	v := &s.result.Verdict
	v.App, v.User, v.Reason = s.ask.Application().ID(), s.ask.Application().User(), WaitsForTurn
	return nil
}

// decide takes the steps of Core.evaluateAsk and records their results.
func (s *dryRunState) decide() {
	c, x, out := s.c, s.ask, s.result
	defer s.explainNode()
	s.addEntitlements()
	switch o, subject := s.startReason(); {
	case c.part.Nomination(x) != nil:
		out.Outcome, out.Node = WouldWait, c.part.Nomination(x).ID()
		out.Verdict.Reason, out.Verdict.Subject = WaitsForVictims, string(out.Node)
		return
	case o != NotPending:
		out.Outcome, out.Verdict.Reason, out.Verdict.Subject = WouldNotStart, o, subject
		return
	}
	shortfalls := c.part.QuotaShortfalls(x)
	n := s.firstFeasibleNode()
	s.setVerdict(n)
	if len(shortfalls) == 0 && n != nil {
		out.Outcome, out.Node = WouldFit, n.ID()
		if out.Verdict.Reason != WaitsForTurn { // a quota that allows the ask once preempting allocations have ended
			out.Outcome = WouldWait
		}
		return
	}
	out.Outcome = WouldNotFit
	reasons, _ := preemption.EntitledReasons(c.part, x, s.entitlementTime())
	for _, r := range reasons {
		if s.searchFor(r) {
			return
		}
	}
}

// entitlementTime is the time for which entitlements are computed.
func (s *dryRunState) entitlementTime() time.Time {
	conf := s.ask.Application().Queue().Settings()
	if at := s.ask.Created().Add(max(conf.PreemptionDelay, conf.PriorityPreemptionDelay)); s.request.AssumeDelayPassed && at.After(s.now) {
		return at
	}
	return s.now
}

func (s *dryRunState) addEntitlements() {
	for _, entitlement := range preemption.Entitlements(s.c.part, s.ask, s.entitlementTime()) {
		v := DryRunEntitlement{Reason: entitlement.Reason, NotEntitled: entitlement.NotEntitled, Due: entitlement.Due}
		if entitlement.Queue != nil {
			v.Queue = entitlement.Queue.Path()
		}
		s.result.Entitlements = append(s.result.Entitlements, v)
	}
}

// startReason is Core.startReason, for the application of an ask that may be hypothetical.
func (s *dryRunState) startReason() (o PendingReason, subject string) {
	if s.mustStartFirst != nil {
		return WaitsToStart, string(s.mustStartFirst.ID())
	}
	return s.c.maxApplicationsReason(s.ask.Application())
}

// firstFeasibleNode is the first node that is feasible for the ask now; nil: none is.
func (s *dryRunState) firstFeasibleNode() *objects.Node {
	for n := range s.c.part.ScanFittingNodes(s.ask) {
		if s.predicates == nil || s.c.oracle == nil || s.c.oracle.Fits(s.ask.Key(), n.ID()) {
			return n
		}
	}
	return nil
}

// setVerdict records why the ask is not placed now, where n is its first feasible node; nil: there is none.
func (s *dryRunState) setVerdict(n *objects.Node) {
	v := &s.result.Verdict
	taken := n != nil || s.hasFittingNode()
	if v.Reason, v.Subject = s.c.permanentReason(s.ask, taken); v.Reason != NotPending {
		return
	}
	if v.Reason, v.Subject = s.c.quotaReason(s.ask); v.Reason != NotPending {
		return
	}
	v.Reason, v.Subject = WaitsForTurn, ""
	switch {
	case n != nil:
	case taken:
		v.Reason = NodesRejectedByRM
	default:
		v.Reason, v.Subject = NoNodeFits, string(s.ask.Ask().RequiredNode)
	}
}

// hasFittingNode reports whether the ask fits a node, whatever the RM says.
func (s *dryRunState) hasFittingNode() bool {
	for range s.c.part.ScanFittingNodes(s.ask) {
		return true
	}
	return false
}

// searchFor searches for victims by one preemption reason, and reports whether there is a plan.
func (s *dryRunState) searchFor(r victim.Reason) bool {
	s.lastSearch = s.c.search().Explain(s.ask, r, s.predicates)
	s.result.Searches = append(s.result.Searches, s.viewSearch(&s.lastSearch))
	if !s.lastSearch.Found {
		return false
	}
	plan := &s.lastSearch.Plan
	s.result.Outcome, s.result.Node = WouldPreempt, plan.Node.ID()
	if s.result.Victims, s.result.MoreVictims = listVictims(plan.Victims, s.now); len(plan.Victims) == 0 {
		s.result.Outcome = WouldWait
	}
	return true
}

// explainNode lists the candidates of the node of the request, else of the node of the plan, else of the
// first node that was searched.
func (s *dryRunState) explainNode() {
	plan := victim.Plan{Ask: s.ask, Reason: s.lastSearch.Reason, Node: s.lastSearch.FirstNode}
	if reasons, _ := preemption.EntitledReasons(s.c.part, s.ask, s.entitlementTime()); len(reasons) == 0 {
		return // the ask may not preempt, so no allocation is a candidate
	} else if len(s.result.Searches) == 0 {
		plan.Reason = reasons[0]
	}
	if s.lastSearch.Found {
		plan = s.lastSearch.Plan
	}
	if n, ok := s.c.part.Node(s.request.Node); ok && n != plan.Node {
		plan = victim.Plan{Ask: s.ask, Reason: plan.Reason, Node: n}
	}
	if plan.Node == nil {
		return
	}
	s.result.CandidatesNode, s.result.CandidatesReason = plan.Node.ID(), plan.Reason
	s.result.Candidates, s.result.MoreCandidates = listCandidates(s.c.search().Candidates(plan))
}

func (s *dryRunState) viewSearch(report *victim.SearchReport) DryRunSearch {
	v := DryRunSearch{
		Reason: report.Reason, Found: report.Found, TotalNodes: report.TotalNodes, NodeOutcomes: report.Outcomes, Infeasible: report.Infeasible, NoPlanReasons: report.NoPlanReasons, CrossNode: report.CrossNode,
	}
	for i := range report.BlockingQuotas {
		w := &report.BlockingQuotas[i]
		if w.Nodes == 0 {
			continue // the quota is no obstacle: the eligible allocations of all nodes free enough
		}
		shortfall := DryRunShortfall{Nodes: w.Nodes, Shortfall: withoutNegative(s.amountsOf(w.Amount))}
		shortfall.Verdict.Reason, shortfall.Verdict.Subject = constraintReason(w.Constraint, false)
		v.BlockingQuotas = append(v.BlockingQuotas, shortfall)
	}
	for i := range report.Best {
		p := DryRunPlan{Node: report.Best[i].Node.ID()}
		p.Victims, p.MoreVictims = listVictims(report.Best[i].Victims, s.now)
		p.BudgetViolations, p.OptedOut, p.Originator = report.Best[i].Cost()
		v.BestPlans = append(v.BestPlans, p)
	}
	return v
}
