package preemption

import (
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
)

// EnforceQuota preempts victims of one queue whose enforcement is due (QUO-52, QUO-59), and reports whether there was
// one. It precedes all other decisions: in a busy cluster these never end, and asks that wait for what it frees need
// not preempt (QUO-60).
func (eng *Engine) EnforceQuota(now time.Time) bool {
	for q := eng.part.TakeDueForEnforcement(now); q != nil; q = eng.part.TakeDueForEnforcement(now) {
		victims := victim.ForQuota(eng.part, q)
		if len(victims) == 0 {
			continue // no allocation is eligible (QUO-58)
		}
		eng.logQuotaPreemption(q, victims, now)
		eng.part.MarkPreempting(victims, now)
		eng.host.OnPreempted(victims, nil, victim.ReasonQuota, fmt.Sprintf("queue %s is above its max", q.Path()))
		return true
	}
	return false
}
