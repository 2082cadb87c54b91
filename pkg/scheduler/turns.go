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
		c.part.Possible(&c.possible)
		q := c.part.Root()
		if !q.Possible(c.possible) {
			return nil, nil
		}
		for !q.Leaf() {
			q = q.Next(c.possible)
			q.Narrow(c.possible)
		}
		a := q.NextApplication(c.possible)
		a.Narrow(c.possible)
		class := a.Next(c.possible)
		if !class.Exact() {
			if class = c.lookAround(); class == nil {
				return nil, nil
			}
		}
		x := class.Asks()[0]
		if n := c.willingNode(x); n != nil {
			return x, n
		}
		c.part.SetAside(x)
		if c.retryAt.IsZero() {
			c.retryAt = now.Add(refusalRetry)
		}
	}
}
