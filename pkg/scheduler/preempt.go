package scheduler

import (
	"fmt"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
)

// When nothing that is pending finds room, asks that have a right to somebody's place get
// their turn again, in the same order. What one of them cannot take, an ask like it cannot
// take either, unless the RM refused the one (preempt_evaluate.go), so groups of asks are evaluated, and each not more often than every evaluationRetry and
// when a delay of its first ask ends: an evaluation is much dearer than a decision. So a full cluster pays for what is new in it and for those
// whose time has come, and not for all that wait.
const evaluationRetry = 5 * time.Second

// PreemptionOracle is an Oracle that can also say whether an ask could run on a node if
// others left it. Of any other Oracle only Fits is asked.
type PreemptionOracle interface {
	FitsWithout(ask objects.AllocationKey, node objects.NodeID, victims []objects.AllocationKey) bool
}

// preempt tells those to leave whom the first ask may take that may take anybody. found
// says that something has changed, which may let others be placed; else more says whether
// not all have looked who should.
func (c *Core) preempt(now time.Time) (found, more bool) {
	c.addNewGroups()
	if c.giveUpStaleNominations(now) {
		return true, false // what was held for them is free: decide first
	}
	c.addDueGroups(now)
	c.sortToEvaluate()
	clear(c.knownInfeasible)
	for c.searches = 0; len(c.toEvaluate) > 0; {
		if c.searches >= c.opt.Evaluations {
			return false, true
		}
		group := c.toEvaluate[0].group
		if c.firstWithoutNomination(group) == nil { // all wait for a node; that is noticed when one does not any more
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

// addNewGroups adds the classes that are new to those that should look. Those that have looked
// in vain long enough ago are there already.
func (c *Core) addNewGroups() {
	for _, group := range c.part.TakeNewPreemptors() {
		c.toEvaluate = append(c.toEvaluate, &evaluation{group: group})
	}
}

func (c *Core) sortToEvaluate() {
	c.toEvaluate = slices.DeleteFunc(c.toEvaluate, c.dropIfGone)
	if len(c.toEvaluate) > 1 {
		slices.SortFunc(c.toEvaluate, func(a, b *evaluation) int { return objects.CompareAskGroups(a.group, b.group) })
	}
}

// dropIfGone reports whether nothing of a group is pending any more, or it cannot have a right.
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

func (c *Core) findPlan(x *objects.Allocation, reasons []preemption.Reason) (plan preemption.Plan, found bool) {
	c.searches++
	for _, r := range reasons {
		if plan, found = c.search().Find(x, r, c.checkPredicates); found {
			break
		}
	}
	return plan, found
}

// search is made when somebody first looks: most partitions never need it.
func (c *Core) search() *preemption.Search {
	if c.victimSearch == nil {
		c.victimSearch = preemption.NewSearch(c.part, c.opt.Candidates, &c.cycles)
	}
	return c.victimSearch
}

// evaluationKey is all that decides whom an ask can take, as long as nothing changes. A thousand
// applications that wait in a leaf for the same look once.
type evaluationKey struct {
	leaf            *objects.Queue
	shape           *objects.Shape
	priority        int32
	reasons         int
	firstReason     preemption.Reason
	user, userGroup string // whose limits count; empty: nobody's

	gang struct { // that looks together
		app   *objects.Application
		group string
	}
}

func evaluationKeyOf(x *objects.Allocation, reasons []preemption.Reason) evaluationKey {
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

// applicationMayStart reports whether a is not kept waiting by something that preemption cannot change.
func (c *Core) mayStart(a *objects.Application) bool {
	_, _, limited := c.part.BlockingMaxApplications(a)
	return !limited && a.StateAwareAllows()
}

// hasFeasibleNode reports whether a node takes x, and its quotas will allow it as soon as those
// have left who were told to: nobody else need leave.
func (c *Core) hasFeasibleNode(ask *objects.Allocation) bool {
	return len(c.part.QuotaShortfalls(ask)) == 0 && c.firstFeasibleNode(ask) != nil
}

// firstWithoutNomination is the first ask of a class that waits for no node yet; nil: there is none.
func (c *Core) firstWithoutNomination(group *objects.AskGroup) *objects.Allocation {
	for _, x := range group.PendingAsks() {
		if c.part.Nomination(x) == nil {
			return x
		}
	}
	return nil
}

// giveUpStaleNominations gives up nominations that nobody will leave for any more and that lead nowhere
// as things are. It reports whether there were any.
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

// nominationIsFeasible reports whether x can have the node it waits for, now or when those have left
// who are in the way of its quotas.
func (c *Core) nominationIsFeasible(x *objects.Allocation) bool {
	return c.part.FitsNominated(x) && c.mayStart(x.Application()) && len(c.part.QuotaShortfalls(x)) == 0 &&
		(c.oracle == nil || c.oracle.Fits(x.Key(), c.part.Nomination(x).ID()))
}

// checkPredicates asks the RM, and notes that it was asked and whether it refused.
func (c *Core) checkPredicates(x *objects.Allocation, n *objects.Node, victims []*objects.Allocation) bool {
	accepted := c.askOracle(x, n, victims)
	c.oracleAsked, c.oracleRefused = c.oracleAsked || c.oracle != nil, c.oracleRefused || !accepted
	return accepted
}

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

func (c *Core) applyPlan(plan preemption.Plan, now time.Time) {
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

// placeableNominee is the first ask that may have the node it waits for now, and that node.
func (c *Core) placeableNominee() (*objects.Allocation, *objects.Node) {
	for _, x := range c.part.Nominees() {
		n := c.part.Nomination(x)
		if c.part.FitsNominated(x) && x.Application().StateAwareAllows() && c.part.QuotasAllow(x.Application(), x.Shape()) &&
			(c.oracle == nil || c.oracle.Fits(x.Key(), n.ID())) {
			return x, n
		}
	}
	return nil, nil
}
