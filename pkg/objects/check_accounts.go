package objects

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// accounts checks how many applications run in q and below, and what its users and groups
// are said to hold there.
func (c *recount) accounts(q *Queue) error {
	running := 0
	for _, a := range c.p.apps {
		if a.counted && q.Above(a.queue) {
			running++
		}
	}
	if running != q.running {
		return fmt.Errorf("queue %s counts %d running applications, there are %d", q.path, q.running, running)
	}
	for h, x := range q.accounts {
		var holds resources.Amounts
		running, members := 0, 0
		for _, a := range c.p.apps {
			if !q.Above(a.queue) || !a.isOf(h) {
				continue
			}
			sums := c.app[a.id]
			holds = holds.Add(sums[0]).Add(sums[1])
			members++
			running += count(a.charged)
		}
		switch {
		case !c.p.Amounts(x.allocated).Equal(holds):
			return fmt.Errorf("%s holds %v in queue %s, not %v", h, holds, q.path, c.p.Amounts(x.allocated))
		case x.running != running || len(x.members) != members || members == 0:
			return fmt.Errorf("%s has %d applications in queue %s of which %d run, not %d and %d",
				h, members, q.path, running, len(x.members), x.running)
		}
		for _, s := range c.p.slots.shapes {
			if s != nil && x.fit.has(s.slot) != x.allows(s) {
				return fmt.Errorf("%s is wrong in queue %s about shape %v", h, q.path, s.vector)
			}
		}
	}
	return nil
}

func (a *Application) isOf(h Holder) bool {
	if !h.Group {
		return a.user.Name == h.Name
	}
	group, ok := a.limitGroup()
	return ok && group == h.Name
}
