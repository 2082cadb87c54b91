package preemption

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
)

// evaluationRetry is the time after which an ask group without victims is evaluated again (PRE-95, ASK-36).
//
// When no pending ask can be placed, asks that are entitled to preempt are evaluated in selection order (PRE-1, PRE-2).
// If an ask has no plan, identical asks have none either, unless the RM refused it (evaluate_group.go). So groups of
// asks are evaluated: when they are new, when a preemption delay of the first ask ends, and after evaluationRetry if
// something has changed. An evaluation costs much more than a placement; a full cluster pays for asks that are new or
// due, not for all that are pending.
const evaluationRetry = 5 * time.Second

// Preempt carries out the plan of the first group that has one (PRE-1, PRE-2). found: the state has changed, and other
// asks may be feasible now. more: nothing was found, and groups are left to evaluate after opt.Evaluations searches
// (PRE-94).
func (eng *Engine) Preempt(now time.Time) (found, more bool) {
	eng.addNewGroups()
	if eng.giveUpStaleNominations(now) {
		return true, false // the resources held for them are free: place asks first
	}
	eng.addDueGroups(now)
	eng.sortToEvaluate()
	clear(eng.knownInfeasible)
	for eng.searches = 0; len(eng.toEvaluate) > 0; {
		if eng.searches >= eng.opt.Evaluations {
			return false, true
		}
		group := eng.toEvaluate[0].group
		if eng.firstWithoutNomination(group) == nil { // all are nominated; the end of a nomination lists the group again
			group.PreemptorListed = false
			eng.backOff.drop(group)
			eng.toEvaluate = eng.toEvaluate[1:]
			continue
		}
		plans, e := eng.evaluateGroup(eng.toEvaluate[0], now)
		for _, plan := range plans {
			eng.applyPlan(plan, now)
		}
		if len(plans) > 0 {
			return true, false
		}
		eng.toEvaluate = eng.toEvaluate[1:]
		eng.backOff.add(e, eng.delayEnd(group, now))
	}
	return false, false
}

// addNewGroups adds the groups that were not evaluated yet. Groups whose back-off has ended are already in toEvaluate.
func (eng *Engine) addNewGroups() {
	for _, group := range eng.changes.takeNewPreemptors() {
		eng.toEvaluate = append(eng.toEvaluate, &evaluation{group: group})
	}
}

// sortToEvaluate drops groups that need no evaluation, and sorts the others in selection order (PRE-2).
func (eng *Engine) sortToEvaluate() {
	eng.toEvaluate = slices.DeleteFunc(eng.toEvaluate, eng.dropIfGone)
	if len(eng.toEvaluate) > 1 {
		slices.SortFunc(eng.toEvaluate, func(a, b *evaluation) int {
			return objects.CompareSelection(a.group.FirstPending(), b.group.FirstPending())
		})
	}
}

// dropIfGone reports whether a group has no pending ask, or no possible preemption reason (PRE-98), and
// drops it from the back-off.
func (eng *Engine) dropIfGone(e *evaluation) bool {
	switch {
	case e.group.PendingCount() == 0:
	case !e.group.MayPreempt():
		e.group.PreemptorListed = false
	default:
		return false
	}
	eng.backOff.drop(e.group)
	return true
}

// findPlan searches victims for x by each of the reasons in turn, and returns the first plan (PRE-7).
func (eng *Engine) findPlan(x *objects.Allocation, reasons []victim.Reason, now time.Time) (plan victim.Plan,
	found bool) {
	eng.searches++
	for _, r := range reasons {
		plan, found = eng.search().At(now).Find(x, r, eng.checkPredicates)
		if !found || preemptsAsGang(x) { // the gang may have no plan although x has
			eng.searchAgainAt(eng.search().NextYoungEnd())
		}
		if found {
			break
		}
	}
	return plan, found
}

// search returns the search, which it makes at the first evaluation: most partitions never need it.
func (eng *Engine) search() *victim.Search {
	if eng.victimSearch == nil {
		eng.victimSearch = victim.NewSearch(eng.shares, eng.opt.Candidates, &eng.cycles)
	}
	return eng.victimSearch
}

// evaluationKey holds everything that decides which victims an ask can have, as long as nothing changes. Of a thousand
// applications of a leaf with identical asks one is evaluated (PRE-93).
type evaluationKey struct {
	leaf            *objects.Queue
	shape           *feasibility.Shape
	priority        int32
	reasons         int
	firstReason     victim.Reason
	user, userGroup string // of the limits that count; empty: none
	side            string // of a leaf that shares fairly; empty: it does not

	gang struct { // zero: x is evaluated alone
		app   *objects.Application
		group string
	}
}

// evaluationKeyOf returns the key of x; asks with the same key share a search without a plan (PRE-93).
func evaluationKeyOf(x *objects.Allocation, reasons []victim.Reason) evaluationKey {
	a := x.Application()
	l := evaluationKey{leaf: a.Queue(), shape: x.Shape(), priority: x.Ask().Priority, reasons: len(reasons),
		firstReason: reasons[0]}
	if a.Limited() {
		l.user, l.userGroup = a.User().Name, a.LimitGroup()
	}
	switch fair := a.Queue().Settings(); {
	case fair.FairShare && fair.Fairness.By == policies.FairByUser:
		l.side = a.User().Name
	case fair.FairShare:
		l.side = string(a.ID())
	}
	if preemptsAsGang(x) {
		l.gang.app, l.gang.group = a, x.Ask().TaskGroup()
	}
	return l
}

// mayStart reports whether no operator, maxapplications or StateAware order keeps a from starting: preemption
// could not change that (PRE-4).
func (eng *Engine) mayStart(a *objects.Application) bool {
	_, limited := a.Constraints().FirstBlockingStart()
	return !limited && a.MayBeAllocated()
}

// hasFeasibleNode reports whether a node is feasible for the ask, and its quotas allow it once preempting
// allocations have ended (PRE-3).
func (eng *Engine) hasFeasibleNode(ask *objects.Allocation) bool {
	return len(victim.QuotaShortfalls(eng.part, ask)) == 0 && eng.host.FirstFeasibleNode(ask) != nil
}

// firstWithoutNomination returns the first ask of a group that is not nominated; nil: all are (PRE-77).
func (eng *Engine) firstWithoutNomination(group *objects.AskGroup) *objects.Allocation {
	for _, x := range group.PendingAsks() {
		if eng.part.Nomination(x) == nil {
			return x
		}
	}
	return nil
}

// giveUpStaleNominations gives up nominations whose victims have all ended and whose ask cannot be placed in the
// present state (PRE-80). any: there were some.
func (eng *Engine) giveUpStaleNominations(now time.Time) (any bool) {
	for _, x := range slices.Clone(eng.part.Nominees()) {
		if len(eng.part.Nomination(x).Preempting()) > 0 || eng.nominationIsFeasible(x) {
			continue
		}
		any = true
		verdict := eng.host.GiveUpVerdict(x)
		eng.log.endNomination(x, Nomination{State: NominationGivenUp, EndedAt: objects.TimestampOf(now), Verdict: verdict})
		eng.giveUpNomination(x, now)
		eng.reportEndedNominations(NominationGivenUp, nil, verdict, now)
	}
	return any
}

// nominationIsFeasible reports whether x can be placed on its nominated node, now or once allocations that
// block its quotas have ended.
func (eng *Engine) nominationIsFeasible(x *objects.Allocation) bool {
	return eng.part.FitsNominated(x) && eng.mayStart(x.Application()) && len(victim.QuotaShortfalls(eng.part, x)) == 0 &&
		eng.host.Accepts(x, eng.part.Nomination(x))
}

// answersDiffer reports whether another ask of the group of x may have nodes that are refused to x: by the RM, or by
// the anti-affinity of others, which selects by labels.
func (eng *Engine) answersDiffer(x *objects.Allocation) bool {
	return eng.oracle != nil || !x.Constrained() && eng.host.MayRefuse(x)
}

// checkPredicates reports whether other allocations leave n to x when victims and preempting allocations of n are gone,
// and the RM accepts x on n (CON-23, PRE-47). It records whether the answer holds for x only, and whether another ask
// of its group may get another answer.
func (eng *Engine) checkPredicates(x *objects.Allocation, n *objects.Node, victims []*objects.Allocation) bool {
	eng.oracleAsked = eng.oracleAsked || eng.oracle != nil
	if !eng.checkAllocations(x, n, victims) {
		return false
	}
	accepted := eng.askOracle(x, n, victims)
	eng.oracleRefused = eng.oracleRefused || !accepted
	return accepted
}

// checkAllocations does what checkPredicates does, for an ask that the RM does not know.
func (eng *Engine) checkAllocations(x *objects.Allocation, n *objects.Node, victims []*objects.Allocation) bool {
	allowed := eng.host.Allows(x, n, append(slices.Clip(victims), n.Preempting()...))
	eng.oracleAsked = eng.oracleAsked || eng.host.MayRefuse(x)
	eng.oracleRefused = eng.oracleRefused || !allowed && !x.Constrained()
	return allowed
}

// askOracle asks the RM about x on n without victims, if the RM can answer that (PRE-47, PRE-49).
func (eng *Engine) askOracle(x *objects.Allocation, n *objects.Node, victims []*objects.Allocation) bool {
	switch o := eng.oracle; {
	case o == nil:
		return true
	case o.FitsWithout == nil:
		return o.Fits(x.Key(), n.ID())
	}
	keys := make([]objects.AllocationKey, len(victims))
	for i, y := range victims {
		keys[i] = y.Key()
	}
	return eng.oracle.FitsWithout(x.Key(), n.ID(), keys)
}

// applyPlan nominates the ask of a plan and preempts its victims (PRE-73, PRE-82).
func (eng *Engine) applyPlan(plan victim.Plan, now time.Time) {
	x := plan.Ask
	eng.logPreemption(plan, now)
	eng.logLostNominations(eng.part.Preempt(x, plan.Node, plan.Victims, now), x.Key(), now)
	eng.reportEndedNominations(NominationLost, x, "", now)
	eng.host.OnPreempted(plan.Victims, x, plan.Reason, "")
	eng.host.OnNominated(x, plan.Node, plan.Reason, len(plan.Victims))
	eng.recordPreemption(x, plan.Victims, now)
}

// PlaceableNominee returns the first nominated ask that can be placed on its nominated node now, and the node
// (PRE-6, ORD-6); nil: none.
func (eng *Engine) PlaceableNominee() (*objects.Allocation, *objects.Node) {
	for _, x := range eng.part.Nominees() {
		n := eng.part.Nomination(x)
		if eng.part.FitsNominated(x) && x.Application().MayBeAllocated() && !eng.isBlocked(x) &&
			eng.host.Accepts(x, n) {
			return x, n
		}
	}
	return nil, nil
}

// isBlocked reports whether a constraint blocks x now.
func (eng *Engine) isBlocked(x *objects.Allocation) bool {
	_, blocked := x.Application().Constraints().FirstBlocking(x.Shape())
	return blocked
}
