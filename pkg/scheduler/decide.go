package scheduler

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// decide finds the first ask, in the order of queues, applications and asks, that can
// be placed, and the first node that takes it. nil: there is none.
//
// It begins with the shapes that some node takes. At each level the first child that
// offers one of them is the one whose turn it is; what that child has no headroom for is
// left out further down. Because an offer is exact there is no way back up, except from
// what masks cannot know: an ask that the RM refuses is set aside, and the next look is
// different. Where an offer is only about right, everybody is looked at in turn.
func (c *Core) decide(now time.Time) (*objects.Allocation, *objects.Node) {
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
			if group = c.findGroup(); group == nil {
				return nil, nil
			}
		}
		x := group.SchedulableAsks()[0]
		if n := c.firstFeasibleNode(x); n != nil {
			return x, n
		}
		c.part.MarkUnschedulable(x)
		if c.oracleRetryAt.IsZero() {
			c.oracleRetryAt = now.Add(refusalRetry)
		}
	}
}
