package scheduler

import (
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/preemption"
)

// enforceQuota brings one queue within its max, or nearer to it, whose time has come, and
// reports whether there was one. It goes before all other decisions: in a busy cluster they
// never end, and an ask that finds others leaving need not take the place of anybody else.
func (c *Core) enforceQuota(now time.Time) bool {
	for q := c.part.TakeDueForEnforcement(now); q != nil; q = c.part.TakeDueForEnforcement(now) {
		victims := preemption.QuotaVictims(c.part, q)
		if len(victims) == 0 {
			continue // nobody may go as things are
		}
		c.logQuotaPreemption(q, victims, now)
		c.part.MarkPreempting(victims, now)
		for _, y := range victims {
			c.emit(Released{y.Key(), y.Ask().App, PreemptedByScheduler,
				fmt.Sprintf("preempted (%s): queue %s is above its max", preemption.ReasonQuota, q.Path())})
		}
		c.emitPreempted(victims, nil, preemption.ReasonQuota, fmt.Sprintf("queue %s is above its max", q.Path()))
		return true
	}
	return false
}
