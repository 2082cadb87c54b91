package scheduler

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// decide finds the first ask, in the order of queues, applications and asks, that is feasible, and its
// first feasible node; nil: there is none (ORD-1, ORD-8, NOD-32), or it is a member of a gang that is placed together,
// and c.gangPlan has all of them (GAN-20).
//
// It begins with the shapes that fit some node, and goes down from root. At each level it takes the first
// child that has one of these shapes pending, and removes the shapes for which that child has no headroom.
// The masks are exact for most groups, so no backtracking is needed, with two exceptions. An ask that the
// RM refuses on every node is marked unschedulable, and the search begins again at root. If the group is
// not exact, findGroup verifies the candidates one by one.
func (c *Core) decide(now time.Time) (*objects.Allocation, *objects.Node) {
	c.fairness.Settle()
	for {
		c.part.FeasibleShapes(&c.feasible)
		q := c.part.Root()
		if !q.HasFeasible(c.feasible) {
			return nil, nil
		}
		for !q.Leaf() {
			q = q.NextChild(c.feasible)
			q.RestrictToHeadroom(c.feasible)
		}
		a := q.NextApplication(c.feasible)
		a.RestrictToHeadroom(c.feasible)
		group := a.NextAskGroup(c.feasible)
		if !group.Exact() {
			group = c.findGroup()
			if group == nil {
				return nil, nil
			}
		}
		x := group.SchedulableAsks()[0]
		if group.PlacedTogether() {
			if c.planGang(group.Application(), now) {
				return nil, nil // the plan has the asks and their nodes
			}
			continue
		}
		if n := c.feasibleNodeOf(x, now); n != nil {
			return x, n
		}
	}
}

// feasibleNodeOf is the first feasible node of x, which fits a node; nil: all of them are refused to it, by the RM or
// by other allocations, and x is unschedulable.
func (c *Core) feasibleNodeOf(x *objects.Allocation, now time.Time) *objects.Node {
	check := c.nodes.For(x)
	n := c.firstFeasibleOf(x, check)
	switch {
	case n != nil:
	case x.Constrained() && (c.oracle == nil || check.First() == nil):
		objects.MarkRefused(c.part, x)
	default:
		c.part.MarkUnschedulable(x)
		c.retryRefused(now)
	}
	return n
}

// retryRefused has what the RM refused evaluated again after a time. Without predicates it has refused nothing.
func (c *Core) retryRefused(now time.Time) {
	if c.oracle != nil && c.oracleRetryAt.IsZero() {
		c.oracleRetryAt = now.Add(refusalRetry)
		if c.oracleRetryAt.Before(c.routineUntil) {
			c.routineUntil = c.oracleRetryAt
		}
	}
}
