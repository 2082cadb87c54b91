package preemption

import (
	"cmp"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
)

// DefaultRefusals bounds the asks of a group that the RM may refuse in one evaluation, unless
// objects.Options.Refusals says otherwise.
const DefaultRefusals = 8

// evaluateGroup searches victims for the first ask of a group that can have any (PRE-92, PRE-96). previous is the last
// evaluation of the group, current this one. There are several plans if a gang is evaluated together.
//
// If the first ask has no plan, the asks after it have none either, unless the RM refused the first: then the next one
// is evaluated. So
//
//   - an ask that has no victims although the RM refused nothing ends the evaluation, and so does an ask
//     of a gang that is evaluated together;
//   - after maxRefused refused asks the evaluation ends, because each costs a search and calls of the RM.
//     The next evaluation resumes after the last of them, and after the last ask of the group with the
//     first. No ask is evaluated twice in one evaluation;
//   - after an evaluation that finds victims after refused asks the next one resumes there as well;
//   - a group with a refused ask is evaluated again after evaluationRetry even if nothing has changed:
//     not all of its asks may have been evaluated, and the answer of the RM may have changed.
//
// After n asks that the RM refuses, an ask is evaluated after n/8 evaluations, 5 s apart.
func (eng *Engine) evaluateGroup(previous *evaluation, now time.Time) (plans []victim.Plan, current *evaluation) {
	group := previous.group
	current = &evaluation{group: group, evaluatedAt: now, changes: eng.changeCount()}
	maxRefused, tried := cmp.Or(eng.opt.Refusals, DefaultRefusals), 0
	var lastRefused *objects.Allocation
	for x := range eng.part.EachToEvaluate(group) {
		if tried == maxRefused {
			group.ResumeAfter(lastRefused)
			return nil, current
		}
		tried++
		if tried == 1 {
			current.first = x
		}
		eng.oracleRefused = false
		plans = eng.evaluateAsk(x, previous, current)
		if len(plans) > 0 {
			if lastRefused != nil {
				group.ResumeAfter(lastRefused)
			}
			return plans, current
		}
		if !eng.oracleRefused || preemptsAsGang(x) {
			break
		}
		lastRefused, current.oracleRefused = x, true
	}
	group.ResumeAfter(nil)
	return nil, current
}

// evaluateAsk searches victims for x (PRE-95). previous and current are evaluations of its group. There are no plans if
// x may not preempt, or if no victims free enough.
func (eng *Engine) evaluateAsk(x *objects.Allocation, previous, current *evaluation) (plans []victim.Plan) {
	now := current.evaluatedAt
	eng.evaluated++
	if !eng.mayStart(x.Application()) || eng.hasFeasibleNode(x) {
		return nil
	}
	reasons, _ := EntitledReasons(eng.shares, x, now)
	current.reasons = max(current.reasons, len(reasons))
	if !previous.evaluatedAt.IsZero() && !previous.oracleRefused && previous.changes == current.changes &&
		previous.reasons == current.reasons &&
		(previous.first == x || !eng.answersDiffer(x)) { // nothing was asked about another ask
		return nil // nothing has changed since
	}
	if len(reasons) == 0 || eng.knownInfeasible[evaluationKeyOf(x, reasons)] {
		return nil
	}
	eng.oracleAsked = false
	if preemptsAsGang(x) {
		plans = eng.planGang(x, reasons[0], now)
	} else if plan, found := eng.findPlan(x, reasons, now); found {
		plans = append(plans, plan)
	}
	if len(plans) == 0 && !eng.oracleAsked { // otherwise an answer of the RM holds for this ask only
		if eng.knownInfeasible == nil {
			eng.knownInfeasible = map[evaluationKey]bool{}
		}
		eng.knownInfeasible[evaluationKeyOf(x, reasons)] = true
	}
	return plans
}
