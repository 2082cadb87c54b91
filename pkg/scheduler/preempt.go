package scheduler

import (
	"fmt"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
)

// evaluationRetry is the time after which an ask group without victims is evaluated again (PRE-95, ASK-36).
//
// When no pending ask can be placed, asks that are entitled to preempt are evaluated in selection order
// (PRE-1, PRE-2). An ask without a plan means that identical asks have none either, unless the RM refused
// it (preempt_evaluate.go). So groups of asks are evaluated: when they are new, when a preemption delay
// of the first ask ends, and after evaluationRetry if something has changed. An evaluation costs much more than a placement; a full
// cluster pays for what is new or due in it, not for everything that is pending.
const evaluationRetry = 5 * time.Second

// PreemptionOracle is an Oracle that also answers whether an ask could run on a node without its victims
// (PRE-47). Of any other Oracle only Fits is called.
type PreemptionOracle interface {
	FitsWithout(ask objects.AllocationKey, node objects.NodeID, victims []objects.AllocationKey) bool
}

// preempt carries out the plan of the first group that has one (PRE-1, PRE-2). found: the state has changed, and
// other asks may be feasible now. more: not found, and groups are left to evaluate after opt.Evaluations
// searches (PRE-94).
func (c *Core) preempt(now time.Time) (found, more bool) {
	c.addNewGroups()
	if c.giveUpStaleNominations(now) {
		return true, false // the resources held for them are free: place asks first
	}
	c.addDueGroups(now)
	c.sortToEvaluate()
	clear(c.knownInfeasible)
	for c.searches = 0; len(c.toEvaluate) > 0; {
		if c.searches >= c.opt.Evaluations {
			return false, true
		}
		group := c.toEvaluate[0].group
		if c.firstWithoutNomination(group) == nil { // all are nominated; the end of a nomination lists the group again
			group.ClearPreemptorListed()
			c.backOff.drop(group)
			c.toEvaluate = c.toEvaluate[1:]
			continue
		}
		plans, e := c.evaluateGroup(c.toEvaluate[0], now)
		for _, plan := range plans {
			c.applyPlan(plan, now)
		}
		if len(plans) > 0 {
			return true, false
		}
		c.toEvaluate = c.toEvaluate[1:]
		c.backOff.add(e, c.delayEnd(group, now))
	}
	return false, false
}

// addNewGroups adds the groups that were not evaluated yet. Groups whose back-off has ended are in
// toEvaluate already.
func (c *Core) addNewGroups() {
	for _, group := range c.part.TakeNewPreemptors() {
		c.toEvaluate = append(c.toEvaluate, &evaluation{group: group})
	}
}

// sortToEvaluate drops groups that need no evaluation, and sorts the others in selection order (PRE-2).
func (c *Core) sortToEvaluate() {
	c.toEvaluate = slices.DeleteFunc(c.toEvaluate, c.dropIfGone)
	if len(c.toEvaluate) > 1 {
		slices.SortFunc(c.toEvaluate, func(a, b *evaluation) int { return objects.CompareAskGroups(a.group, b.group) })
	}
}

// dropIfGone reports whether a group has no pending ask, or no possible preemption reason (PRE-98), and
// drops it from the back-off.
func (c *Core) dropIfGone(e *evaluation) bool {
	switch {
	case len(e.group.PendingAsks()) == 0:
	case !e.group.MayPreempt():
		e.group.ClearPreemptorListed()
	default:
		return false
	}
	c.backOff.drop(e.group)
	return true
}

// findPlan searches victims for x by each of reasons in turn, and returns the first plan (PRE-7).
func (c *Core) findPlan(x *objects.Allocation, reasons []victim.Reason) (plan victim.Plan, found bool) {
	c.searches++
	for _, r := range reasons {
		if plan, found = c.search().Find(x, r, c.checkPredicates); found {
			break
		}
	}
	return plan, found
}

// search is made at the first evaluation: most partitions never need it.
func (c *Core) search() *victim.Search {
	if c.victimSearch == nil {
		c.victimSearch = victim.NewSearch(c.part, c.opt.Candidates, &c.cycles)
	}
	return c.victimSearch
}

// evaluationKey is everything that decides which victims an ask can have, as long as nothing changes. Of a
// thousand applications of a leaf with identical asks one is evaluated (PRE-93).
type evaluationKey struct {
	leaf            *objects.Queue
	shape           *feasibility.Shape
	priority        int32
	reasons         int
	firstReason     victim.Reason
	user, userGroup string // of the limits that count; empty: none

	gang struct { // zero: x is evaluated alone
		app   *objects.Application
		group string
	}
}

// evaluationKeyOf is the key of x; asks with the same key share a search without a plan (PRE-93).
func evaluationKeyOf(x *objects.Allocation, reasons []victim.Reason) evaluationKey {
	a := x.Application()
	l := evaluationKey{leaf: a.Queue(), shape: x.Shape(), priority: x.Ask().Priority, reasons: len(reasons), firstReason: reasons[0]}
	if a.Limited() {
		l.user, l.userGroup = a.User().Name, a.LimitGroup()
	}
	if x.PreemptsAsGang() {
		l.gang.app, l.gang.group = a, x.Ask().TaskGroup
	}
	return l
}

// mayStart reports whether no maxapplications and no StateAware order keeps a from starting: preemption
// could not change that (PRE-4).
func (c *Core) mayStart(a *objects.Application) bool {
	_, limited := c.part.ConstraintsOf(a).FirstBlockingStart()
	return !limited && a.StateAwareAllows()
}

// hasFeasibleNode reports whether a node is feasible for the ask, and its quotas allow it once preempting
// allocations have ended (PRE-3).
func (c *Core) hasFeasibleNode(ask *objects.Allocation) bool {
	return len(c.part.QuotaShortfalls(ask)) == 0 && c.firstFeasibleNode(ask) != nil
}

// firstWithoutNomination is the first ask of a group that is not nominated; nil: all are (PRE-77).
func (c *Core) firstWithoutNomination(group *objects.AskGroup) *objects.Allocation {
	for _, x := range group.PendingAsks() {
		if c.part.Nomination(x) == nil {
			return x
		}
	}
	return nil
}

// giveUpStaleNominations gives up nominations whose victims have all ended and whose ask cannot be placed
// as things are (PRE-80). any: there were some.
func (c *Core) giveUpStaleNominations(now time.Time) (any bool) {
	for _, x := range slices.Clone(c.part.Nominees()) {
		if len(c.part.Nomination(x).Preempting()) > 0 || c.nominationIsFeasible(x) {
			continue
		}
		any = true
		c.logNominationGivenUp(x, now)
		verdict := c.giveUpVerdict(x)
		c.giveUpNomination(x, now)
		c.emitEndedNominations(NominationGivenUp, AllocationRef{}, verdict.String(), now)
	}
	return any
}

// nominationIsFeasible reports whether x can be placed on its nominated node, now or once allocations that
// block its quotas have ended.
func (c *Core) nominationIsFeasible(x *objects.Allocation) bool {
	return c.part.FitsNominated(x) && c.mayStart(x.Application()) && len(c.part.QuotaShortfalls(x)) == 0 &&
		(c.oracle == nil || c.oracle.Fits(x.Key(), c.part.Nomination(x).ID()))
}

// checkPredicates asks the RM, and records that it was asked and whether it refused.
func (c *Core) checkPredicates(x *objects.Allocation, n *objects.Node, victims []*objects.Allocation) bool {
	accepted := c.askOracle(x, n, victims)
	c.oracleAsked, c.oracleRefused = c.oracleAsked || c.oracle != nil, c.oracleRefused || !accepted
	return accepted
}

// askOracle asks the RM about x on n without victims, if it can answer that (PRE-47, PRE-49).
func (c *Core) askOracle(x *objects.Allocation, n *objects.Node, victims []*objects.Allocation) bool {
	switch o := c.oracle.(type) {
	case nil:
		return true
	case PreemptionOracle:
		keys := make([]objects.AllocationKey, len(victims))
		for i, y := range victims {
			keys[i] = y.Key()
		}
		return o.FitsWithout(x.Key(), n.ID(), keys)
	default:
		return c.oracle.Fits(x.Key(), n.ID())
	}
}

// applyPlan nominates the ask of a plan and preempts its victims (PRE-73, PRE-82).
func (c *Core) applyPlan(plan victim.Plan, now time.Time) {
	x := plan.Ask
	c.logPreemption(plan, now)
	c.logLostNominations(c.part.Preempt(x, plan.Node, plan.Victims, now), x.Key(), now)
	c.emitEndedNominations(NominationLost, refOf(x), "", now)
	for _, y := range plan.Victims {
		c.emit(Released{y.Key(), y.Ask().App, PreemptedByScheduler,
			fmt.Sprintf("preempted (%s) for ask %s of application %s", plan.Reason, x.Key(), x.Ask().App)})
	}
	c.emitPreempted(plan.Victims, x, plan.Reason, "")
	c.emitNominated(x, plan.Node.ID(), plan.Reason, len(plan.Victims))
	c.recordPreemption(x, plan.Victims, now)
}

// placeableNominee is the first nominated ask that can be placed on its nominated node now, and the node
// (PRE-6, ORD-6); nil: none.
func (c *Core) placeableNominee() (*objects.Allocation, *objects.Node) {
	for _, x := range c.part.Nominees() {
		n := c.part.Nomination(x)
		if c.part.FitsNominated(x) && x.Application().StateAwareAllows() && !blocked(c.part, x.Application(), x.Shape()) &&
			(c.oracle == nil || c.oracle.Fits(x.Key(), n.ID())) {
			return x, n
		}
	}
	return nil, nil
}
