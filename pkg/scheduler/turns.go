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
// what masks cannot know: then something is set aside and the next look is different.
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
		if x, n := c.choose(now, q.NextApplication(c.possible)); x != nil {
			return x, n
		}
	}
}

// choose finds the first of a's asks that can be placed: the first one of the first class
// that is offered, since the asks of a class differ only in age. nil: something was set
// aside instead.
func (c *Core) choose(now time.Time, a *objects.Application) (*objects.Allocation, *objects.Node) {
	first := a.Next(c.possible)
	if !first.Shape().Slotted() && (c.part.Ceiling(a.Queue(), first.Shape()) != nil || c.part.NodeFor(first.Shape()) == nil) {
		c.part.Park(first)
		return nil, nil
	}
	x := first.Asks()[0]
	if n := c.willingNode(x); n != nil {
		return x, n
	}
	c.part.SetAside(x)
	if c.retryAt.IsZero() {
		c.retryAt = now.Add(refusalRetry)
	}
	return nil, nil
}
