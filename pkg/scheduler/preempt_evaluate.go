package scheduler

import (
	"cmp"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
)

// refusalsPerEvaluation is how many asks of a group an evaluation goes through that the RM
// refuses, if nothing else is said (objects.Options.Refusals).
const refusalsPerEvaluation = 8

// evaluateGroup looks for victims for the first ask of a group that can have any. was is the last
// evaluation of the group. There are several plans where a gang looks together.
//
// What the first ask cannot take, those behind it cannot take either, unless the RM refused the
// first: then the next one is tried. So
//
//   - an ask that finds no victims although the RM refused nothing ends the evaluation, and so does
//     one of a gang that looks together;
//   - after so many refused asks it ends too, for each costs a search and answers of the RM, and
//     the next evaluation goes on behind the last of them. With the last ask of the group it
//     goes on with the first; none is tried twice in one evaluation;
//   - an evaluation that finds victims behind refused asks has the next one go on there as well;
//   - a group in which an ask was refused is evaluated again after evaluationRetry even if nothing has
//     changed: its asks may not all have been tried, and the RM may have changed its mind.
//
// With n asks that the RM refuses, an ask behind them is tried after n/8 evaluations, 5 s apart.
func (c *Core) evaluateGroup(previous *evaluation, now time.Time) (plans []preemption.Plan, current *evaluation) {
	group := previous.group
	current = &evaluation{group: group, evaluatedAt: now, changes: c.changeCount()}
	maxRefused, tried := cmp.Or(c.opt.Refusals, refusalsPerEvaluation), 0
	var lastRefused *objects.Allocation // that was refused
	for x := range c.part.EachToEvaluate(group) {
		if tried == maxRefused {
			group.ResumeAfter(lastRefused)
			return nil, current
		}
		tried++
		c.oracleRefused = false
		if plans = c.evaluateAsk(x, previous, current); len(plans) > 0 {
			if lastRefused != nil {
				group.ResumeAfter(lastRefused)
			}
			return plans, current
		}
		if !c.oracleRefused || x.PreemptsAsGang() {
			break
		}
		lastRefused, current.oracleRefused = x, true
	}
	group.ResumeAfter(nil)
	return nil, current
}

// evaluateAsk looks for victims for x. was is the last evaluation of its group, and is this one. There
// are no plans if x must not preempt or cannot.
func (c *Core) evaluateAsk(x *objects.Allocation, previous, current *evaluation) (plans []preemption.Plan) {
	now := current.evaluatedAt
	c.evaluated++
	if !c.mayStart(x.Application()) || c.hasFeasibleNode(x) {
		return nil
	}
	reasons, _ := preemption.EntitledReasons(c.part, x, now)
	current.reasons = max(current.reasons, len(reasons))
	if !previous.evaluatedAt.IsZero() && !previous.oracleRefused && previous.changes == current.changes && previous.reasons == current.reasons {
		return nil // nothing has changed since
	}
	if len(reasons) == 0 || c.knownInfeasible[evaluationKeyOf(x, reasons)] {
		return nil
	}
	c.oracleAsked = false
	if x.PreemptsAsGang() {
		plans = c.planGang(x, reasons[0], now)
	} else if plan, found := c.findPlan(x, reasons); found {
		plans = append(plans, plan)
	}
	if len(plans) == 0 && !c.oracleAsked { // what the RM said holds for this ask alone
		if c.knownInfeasible == nil {
			c.knownInfeasible = map[evaluationKey]bool{}
		}
		c.knownInfeasible[evaluationKeyOf(x, reasons)] = true
	}
	return plans
}
