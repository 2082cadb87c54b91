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
	c.Refresh()
	s := dryRunState{c: c, now: now, request: h, result: &DryRunResult{At: objects.TimestampOf(now)}}
	if err := s.findOrCreateAsk(); err != nil {
		return nil, err
	}
	s.decide()
	s.result.Verdict = s.verdict.String()
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
	verdict        Verdict
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
		s.ask, s.amountsOf, s.result.Pending = x, s.c.part.Amounts, true
		if a := x.Application(); !a.StateAwareAllows() {
			s.mustStartFirst = a.Queue().FirstStarting()
		}
	} else {
		ask, badTag := s.c.withConstraints(s.request.Ask)
		x, err := s.c.part.NewHypotheticalAsk(s.request.Class, ask, s.request.Applicant, s.now)
		if err = errors.Join(s.c.mayNameClass(s.request.NamedClass), badTag, wellFormed(ask), err); err != nil {
			return fmt.Errorf("%w: %w", ErrWouldBeRejected, err)
		}
		s.ask, s.amountsOf, s.mustStartFirst = x.Allocation, x.Amounts, x.MustStartFirst
		if u := s.ask.Application().User(); s.request.AllowedUsers != nil && !s.request.AllowedUsers.Allows(u) {
			return fmt.Errorf("%w: %w", ErrWouldBeRejected, needsPermission(s.request.Class, u))
		}
	}
	s.result.Ask = preemption.PreemptorOf(s.ask)
	s.verdict.Reason = WaitsForTurn
	return nil
}

// decide takes the steps of an evaluation and records their results.
func (s *dryRunState) decide() {
	c, x, out := s.c, s.ask, s.result
	victims := c.preemption.NewDryRun(preemption.DryRunAsk{Allocation: x, Now: s.now, EntitledAt: s.entitlementTime(),
		AmountsOf: s.amountsOf, KnownToRM: out.Pending})
	defer func() { out.DryRunReport = victims.Report(s.request.Node) }()
	switch o, subject := s.startReason(); {
	case c.part.Nomination(x) != nil:
		out.Outcome, out.Node = WouldWait, c.part.Nomination(x).ID()
		s.verdict.Reason, s.verdict.Subject = WaitsForVictims, string(out.Node)
		return
	case o != NotPending:
		out.Outcome, s.verdict.Reason, s.verdict.Subject = WouldNotStart, o, subject
		return
	}
	if o, subject := c.gangReason(x); o != NotPending {
		out.Outcome, s.verdict.Reason, s.verdict.Subject = WouldWait, o, subject
		return
	}
	shortfalls := victim.QuotaShortfalls(c.part, x)
	n := s.firstFeasibleNode()
	s.setVerdict(n)
	if len(shortfalls) == 0 && n != nil {
		out.Outcome, out.Node = WouldFit, n.ID()
		if s.verdict.Reason != WaitsForTurn { // a quota that allows the ask once preempting allocations have ended
			out.Outcome = WouldWait
		}
		return
	}
	out.Outcome = WouldNotFit
	if plan, found := victims.Search(); found {
		out.Outcome, out.Node = WouldPreempt, plan.Node.ID()
		if len(plan.Victims) == 0 {
			out.Outcome = WouldWait
		}
	}
}

// entitlementTime is the time for which entitlements are computed.
func (s *dryRunState) entitlementTime() time.Time {
	conf := s.ask.Application().Queue().Settings()
	if at := s.ask.Created().Add(max(conf.PreemptionDelay, conf.PriorityPreemptionDelay)); s.request.AssumeDelayPassed &&
		at.After(s.now) {
		return at
	}
	return s.now
}

// startReason is Core.startReason, for the application of an ask that may be hypothetical.
func (s *dryRunState) startReason() (o PendingReason, subject string) {
	o, subject = s.c.operatorReason(s.ask.Application())
	if o != NotPending {
		return o, subject
	}
	if s.mustStartFirst != nil {
		return WaitsToStart, string(s.mustStartFirst.ID())
	}
	return s.c.maxApplicationsReason(s.ask.Application())
}

// firstFeasibleNode is the first node that is feasible for the ask now; nil: none is.
func (s *dryRunState) firstFeasibleNode() *objects.Node {
	check := s.c.nodes.For(s.ask)
	for n := range check.Allowed(s.c.part.ScanFittingNodes(s.ask)) {
		if !s.result.Pending || s.c.oracle == nil || s.c.oracle.Fits(s.ask.Key(), n.ID()) {
			return n
		}
	}
	return nil
}

// setVerdict records why the ask is not placed now, where n is its first feasible node; nil: there is none.
func (s *dryRunState) setVerdict(n *objects.Node) {
	v := &s.verdict
	taken := n != nil || s.hasFittingNode()
	v.Reason, v.Subject = s.c.permanentReason(s.ask, taken)
	if v.Reason != NotPending {
		return
	}
	v.Reason, v.Subject = s.c.quotaReason(s.ask)
	if v.Reason != NotPending {
		return
	}
	v.Reason, v.Subject = WaitsForTurn, ""
	switch {
	case n != nil:
	case taken && !s.allowedOnFittingNode():
		v.Reason = NoNodeForAffinity
	case taken:
		v.Reason = NodesRejectedByRM
	case s.result.Pending && s.c.part.Reservations().Of(s.ask) != nil:
		v.Reason, v.Subject = WaitsForReservedNode, string(s.c.part.Reservations().Of(s.ask).ID())
	default:
		v.Reason, v.Subject = NoNodeFits, string(s.ask.Ask().RequiredNode())
	}
}

// hasFittingNode reports whether the ask fits a node, whatever the RM says.
func (s *dryRunState) hasFittingNode() bool {
	for range s.c.part.ScanFittingNodes(s.ask) {
		return true
	}
	return false
}

// allowedOnFittingNode reports whether other allocations leave a node to the ask that it fits.
func (s *dryRunState) allowedOnFittingNode() bool {
	check := s.c.nodes.For(s.ask)
	for n := range s.c.part.ScanFittingNodes(s.ask) {
		if check.Allows(n) {
			return true
		}
	}
	return false
}
