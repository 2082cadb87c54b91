package objects

import (
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// checkViolations checks that exactly the queues above an enforced max are listed, by the names and
// quantities of the configuration.
func (c *recount) checkViolations() error {
	p := c.p
	listed, toRecheck := map[*Queue]int{}, map[*Queue]bool{}
	for _, q := range p.journal.enforcement.toRecheck {
		toRecheck[q] = true
	}
	for _, q := range slices.Concat(p.journal.enforcement.violating, p.journal.enforcement.due) {
		if listed[q]++; q.violation == nil || p.queues[q.path] != q {
			return fmt.Errorf("queue %s is listed as above its max, and has no violation or does not exist", q.path)
		}
	}
	for _, q := range p.queues {
		over := false
		for name, limit := range q.conf.Max.All() {
			over = over || p.Amounts(q.quota.AllocatedAfterPreemption()).Get(name) > limit
		}
		above := over && q.managed && p.conf.QuotaPreemptionEnabled && q.conf.QuotaPreemptionDelay > 0
		switch {
		case q.recheckListed != toRecheck[q]:
			return fmt.Errorf("queue %s is wrongly listed, or not listed, for a recheck of its max", q.path)
		case above != (q.violation != nil) && !q.recheckListed:
			return fmt.Errorf("queue %s uses %v, after preemption %v; above its max %v is recorded as %t",
				q.path, p.Amounts(q.Allocated()), p.Amounts(q.quota.AllocatedAfterPreemption()), q.conf.Max, !above)
		case listed[q] != boolToInt(q.violation != nil):
			return fmt.Errorf("queue %s is listed %d times as above its max", q.path, listed[q])
		case resources.Vector(q.quota.Excess()).IsZero() == over:
			return fmt.Errorf("queue %s has an excess of %v", q.path, p.Amounts(q.quota.Excess()))
		}
	}
	if !slices.IsSortedFunc(p.journal.enforcement.violating, compareEvaluations) {
		return fmt.Errorf("the queues above their max are out of order")
	}
	return nil
}
