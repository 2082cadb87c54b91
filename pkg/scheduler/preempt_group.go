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

// evaluate looks for victims for the first ask of a group that can have any. was is the last
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
//   - a group in which an ask was refused is evaluated again after preemptRetry even if nothing has
//     changed: its asks may not all have been tried, and the RM may have changed its mind.
//
// With n asks that the RM refuses, an ask behind them is tried after n/8 evaluations, 5 s apart.
func (c *Core) evaluate(was *evaluation, now time.Time) (plans []preemption.Plan, is *evaluation) {
	class := was.class
	is = &evaluation{class: class, at: now, changes: c.changes()}
	most, tried := cmp.Or(c.opt.Refusals, refusalsPerEvaluation), 0
	var last *objects.Allocation // that was refused
	for x := range c.part.EachToEvaluate(class) {
		if tried == most {
			class.GoOnBehind(last)
			return nil, is
		}
		tried++
		c.refused = false
		if plans = c.look(x, was, is); len(plans) > 0 {
			if last != nil {
				class.GoOnBehind(last)
			}
			return plans, is
		}
		if !c.refused || x.LooksTogether() {
			break
		}
		last, is.refused = x, true
	}
	class.GoOnBehind(nil)
	return nil, is
}

// look looks for victims for x. was is the last evaluation of its group, and is this one. There
// are no plans if x must not preempt or cannot.
func (c *Core) look(x *objects.Allocation, was, is *evaluation) (plans []preemption.Plan) {
	now := is.at
	c.tried++
	if !c.mayStart(x.Application()) || c.onlyWaits(x) {
		return nil
	}
	rights, _ := preemption.Rights(c.part, x, now)
	is.rights = max(is.rights, len(rights))
	if !was.at.IsZero() && !was.refused && was.changes == is.changes && was.rights == is.rights {
		return nil // nothing has changed since
	}
	if len(rights) == 0 || c.vain[likeOf(x, rights)] {
		return nil
	}
	c.judged = false
	if x.LooksTogether() {
		plans = c.planTogether(x, rights[0], now)
	} else if plan, found := c.planFor(x, rights); found {
		plans = append(plans, plan)
	}
	if len(plans) == 0 && !c.judged { // what the RM said holds for this ask alone
		if c.vain == nil {
			c.vain = map[like]bool{}
		}
		c.vain[likeOf(x, rights)] = true
	}
	return plans
}
