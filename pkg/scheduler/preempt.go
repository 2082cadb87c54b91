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
// take either, unless the RM refused the one (preempt_group.go), so groups of asks are evaluated, and each not more often than every preemptRetry and
// when a delay of its first ask ends: an evaluation is much dearer than a decision. So a full cluster pays for what is new in it and for those
// whose time has come, and not for all that wait.
const preemptRetry = 5 * time.Second

// PreemptionOracle is an Oracle that can also say whether an ask could run on a node if
// others left it. Of any other Oracle only Fits is asked.
type PreemptionOracle interface {
	FitsWithout(ask objects.AllocationKey, node objects.NodeID, victims []objects.AllocationKey) bool
}

// preempt tells those to leave whom the first ask may take that may take anybody. found
// says that something has changed, which may let others be placed; else more says whether
// not all have looked who should.
func (c *Core) preempt(now time.Time) (found, more bool) {
	c.takeFresh()
	if c.forgetStale(now) {
		return true, false // what was held for them is free: decide first
	}
	c.takeDue(now)
	c.putInTurn()
	clear(c.vain)
	for c.looks = 0; len(c.eager) > 0; {
		if c.looks >= c.opt.Looks {
			return false, true
		}
		class := c.eager[0].class
		if c.unnominated(class) == nil { // all wait for a node; that is noticed when one does not any more
			class.Overlook()
			c.backOff.drop(class)
			c.eager = c.eager[1:]
			continue
		}
		plans, e := c.evaluate(c.eager[0], now)
		for _, plan := range plans {
			c.carryOut(plan, now)
		}
		if len(plans) > 0 {
			return true, false
		}
		c.eager = c.eager[1:]
		c.backOff.add(e, c.delayEnd(class, now))
	}
	return false, false
}

// takeFresh adds the classes that are new to those that should look. Those that have looked
// in vain long enough ago are there already.
func (c *Core) takeFresh() {
	for _, class := range c.part.TakeFresh() {
		c.eager = append(c.eager, &evaluation{class: class})
	}
}

func (c *Core) putInTurn() {
	c.eager = slices.DeleteFunc(c.eager, c.gone)
	if len(c.eager) > 1 {
		slices.SortFunc(c.eager, func(a, b *evaluation) int { return objects.CompareTurns(a.class, b.class) })
	}
}

// gone reports whether nothing of a group is pending any more, or it cannot have a right.
func (c *Core) gone(e *evaluation) bool {
	switch {
	case len(e.class.Pending()) == 0:
	case !e.class.MayClaim():
		e.class.Overlook()
	default:
		return false
	}
	c.backOff.drop(e.class)
	return true
}

func (c *Core) planFor(x *objects.Allocation, rights []preemption.Right) (plan preemption.Plan, found bool) {
	c.looks++
	for _, r := range rights {
		if plan, found = c.search().Find(x, r, c.judge); found {
			break
		}
	}
	return plan, found
}

// search is made when somebody first looks: most partitions never need it.
func (c *Core) search() *preemption.Search {
	if c.victims == nil {
		c.victims = preemption.NewSearch(c.part, c.opt.Candidates, &c.churn)
	}
	return c.victims
}

// like is all that decides whom an ask can take, as long as nothing changes. A thousand
// applications that wait in a leaf for the same look once.
type like struct {
	leaf       *objects.Queue
	shape      *objects.Shape
	priority   int32
	rights     int
	first      preemption.Right
	user, team string // whose limits count; empty: nobody's

	gang struct { // that looks together
		app   *objects.Application
		group string
	}
}

func likeOf(x *objects.Allocation, rights []preemption.Right) like {
	a := x.Application()
	l := like{leaf: a.Queue(), shape: x.Shape(), priority: x.Ask().Priority, rights: len(rights), first: rights[0]}
	if a.Limited() {
		l.user, l.team = a.User().Name, a.LimitGroup()
	}
	if x.LooksTogether() {
		l.gang.app, l.gang.group = a, x.Ask().TaskGroup
	}
	return l
}

// mayStart reports whether a is not kept waiting by something that preemption cannot change.
func (c *Core) mayStart(a *objects.Application) bool {
	_, _, barred := c.part.Barrier(a)
	return !barred && a.MayStart()
}

// onlyWaits reports whether a node takes x, and its quotas will allow it as soon as those
// have left who were told to: nobody else need leave.
func (c *Core) onlyWaits(x *objects.Allocation) bool {
	return len(c.part.Walls(x)) == 0 && c.willingNode(x) != nil
}

// unnominated is the first ask of a class that waits for no node yet; nil: there is none.
func (c *Core) unnominated(class *objects.Class) *objects.Allocation {
	for _, x := range class.Pending() {
		if c.part.Nomination(x) == nil {
			return x
		}
	}
	return nil
}

// forgetStale gives up nominations that nobody will leave for any more and that lead nowhere
// as things are. It reports whether there were any.
func (c *Core) forgetStale(now time.Time) (any bool) {
	for _, x := range slices.Clone(c.part.Nominees()) {
		if len(c.part.Nomination(x).Leaving()) > 0 || c.promising(x) {
			continue
		}
		any = true
		c.noteGivenUp(x, now)
		why := c.strayed(x)
		c.giveUp(x, now)
		c.noteLapsed(NominationGivenUp, Party{}, why.String(), now)
	}
	return any
}

// promising reports whether x can have the node it waits for, now or when those have left
// who are in the way of its quotas.
func (c *Core) promising(x *objects.Allocation) bool {
	return c.part.Fits(x) && c.mayStart(x.Application()) && len(c.part.Walls(x)) == 0 &&
		(c.oracle == nil || c.oracle.Fits(x.Key(), c.part.Nomination(x).ID()))
}

// judge asks the RM, and notes that it was asked and whether it refused.
func (c *Core) judge(x *objects.Allocation, n *objects.Node, victims []*objects.Allocation) bool {
	accepted := c.ask(x, n, victims)
	c.judged, c.refused = c.judged || c.oracle != nil, c.refused || !accepted
	return accepted
}

func (c *Core) ask(x *objects.Allocation, n *objects.Node, victims []*objects.Allocation) bool {
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

func (c *Core) carryOut(plan preemption.Plan, now time.Time) {
	x := plan.Ask
	c.note(plan, now)
	c.noteLost(c.part.Preempt(x, plan.Node, plan.Victims, now), x.Key(), now)
	c.noteLapsed(NominationLost, partyOf(x), "", now)
	for _, y := range plan.Victims {
		c.emit(Released{y.Key(), y.Ask().App, PreemptedByScheduler,
			fmt.Sprintf("preempted by right of %s for ask %s of application %s", plan.Right, x.Key(), x.Ask().App)})
	}
	c.noteTold(plan.Victims, x, plan.Right, "")
	c.noteNominated(x, plan.Node.ID(), plan.Right, len(plan.Victims))
	c.noteTook(x, plan.Victims, now)
}

// nominee is the first ask that may have the node it waits for now, and that node.
func (c *Core) nominee() (*objects.Allocation, *objects.Node) {
	for _, x := range c.part.Nominees() {
		n := c.part.Nomination(x)
		if c.part.Fits(x) && x.Application().MayStart() && c.part.Allowed(x.Application(), x.Shape()) &&
			(c.oracle == nil || c.oracle.Fits(x.Key(), n.ID())) {
			return x, n
		}
	}
	return nil, nil
}
