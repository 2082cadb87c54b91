package scheduler

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// turnOf walks down from q, whoever's turn it is first, and stops at the first ask that
// can be placed. Queues where nothing could be placed are passed by until there is news.
func (c *Core) turnOf(now time.Time, q *objects.Queue) (*objects.Allocation, *objects.Node) {
	if !q.HasPending() || c.part.Quiet(q) {
		return nil, nil
	}
	if q.Leaf() {
		for _, a := range q.ApplicationTurn() {
			if x, n := c.turnOfApplication(now, a); x != nil {
				return x, n
			}
		}
	} else {
		for _, child := range q.Turn() {
			if x, n := c.turnOf(now, child); x != nil {
				return x, n
			}
		}
	}
	c.part.Hush(q)
	return nil, nil
}

// turnOfApplication finds the first of a's asks that can be placed. One look at each
// class is enough: its asks differ only in age.
func (c *Core) turnOfApplication(now time.Time, a *objects.Application) (*objects.Allocation, *objects.Node) {
	if !a.MayStart() {
		return nil, nil
	}
	var first *objects.Allocation
	var on *objects.Node
	for _, class := range a.Classes() {
		if first != nil && !before(class.Asks()[0], first) {
			continue
		}
		if c.part.Ceiling(a.Queue(), class.Shape()) != nil {
			continue
		}
		if x, n := c.placeFor(now, class); x != nil && (first == nil || before(x, first)) {
			first, on = x, n
		}
	}
	return first, on
}

func before(x, y *objects.Allocation) bool {
	kx, ky := x.OrderKey(), y.OrderKey()
	return policies.CompareAsks(&kx, &ky) < 0
}
