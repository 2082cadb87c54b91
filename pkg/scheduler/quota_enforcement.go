package scheduler

import (
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
)

// enforceQuota preempts victims of one queue whose enforcement is due (QUO-52, QUO-59), and reports whether
// there was one. It precedes all other decisions: in a busy cluster these never end, and asks that wait for
// what it frees need not preempt (QUO-60).
func (c *Core) enforceQuota(now time.Time) bool {
	for q := c.part.TakeDueForEnforcement(now); q != nil; q = c.part.TakeDueForEnforcement(now) {
		victims := victim.ForQuota(c.part, q)
		if len(victims) == 0 {
			continue // no allocation is eligible (QUO-58)
		}
		c.logQuotaPreemption(q, victims, now)
		c.part.MarkPreempting(victims, now)
		for _, y := range victims {
			c.emit(Released{y.Key(), y.Ask().App, PreemptedByScheduler,
				fmt.Sprintf("preempted (%s): queue %s is above its max", victim.ReasonQuota, q.Path())})
		}
		c.emitPreempted(victims, nil, victim.ReasonQuota, fmt.Sprintf("queue %s is above its max", q.Path()))
		return true
	}
	return false
}
