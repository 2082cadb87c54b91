package scheduler

import (
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/preemption"
)

// enforceMax brings one queue within its max, or nearer to it, whose time has come, and
// reports whether there was one. It goes before all other decisions: in a busy cluster they
// never end, and an ask that finds others leaving need not take the place of anybody else.
func (c *Core) enforceMax(now time.Time) bool {
	for q := c.part.TakeDue(now); q != nil; q = c.part.TakeDue(now) {
		victims := preemption.ForQuota(c.part, q)
		if len(victims) == 0 {
			continue // nobody may go as things are
		}
		c.noteQuota(q, victims, now)
		c.part.Dismiss(victims, now)
		for _, y := range victims {
			c.emit(Released{y.Key(), y.Ask().App, PreemptedByScheduler,
				fmt.Sprintf("preempted by right of %s: queue %s is above its max", preemption.OfQuota, q.Path())})
		}
		c.noteTold(victims, nil, preemption.OfQuota, fmt.Sprintf("queue %s is above its max", q.Path()))
		return true
	}
	return false
}
