package preemption

import (
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
)

// EnforceQuota preempts victims of one queue whose enforcement is due (QUO-52, QUO-59), and reports whether there was
// one. It precedes all other decisions: in a busy cluster these never end, and asks that wait for what it frees need
// not preempt (QUO-60).
func (eng *Engine) EnforceQuota(now time.Time) bool {
	for q := eng.takeDue(now); q != nil; q = eng.takeDue(now) {
		victims, nextYoungEnd := victim.ForQuota(eng.part, q, now)
		eng.searchAgainAt(nextYoungEnd)
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

// takeDue returns a queue above its max for which to search for victims now; nil: there is none.
func (eng *Engine) takeDue(now time.Time) *objects.Queue {
	for {
		x, search := eng.changes.enforcement.TakeDue(now, eng.changes.generation)
		if x == nil {
			return nil
		}
		q := objects.NoteQueueChanged(eng.part, x)
		if search {
			return q
		}
	}
}
