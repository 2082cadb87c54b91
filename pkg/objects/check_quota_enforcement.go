package objects

import (
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// checkViolations checks that exactly those queues are listed as above a max that is enforced
// which are, by the names and numbers of the configuration.
func (p *Partition) checkViolations() error {
	listed, toRecheck := map[*Queue]int{}, map[*Queue]bool{}
	for _, q := range p.toRecheck {
		toRecheck[q] = true
	}
	for _, q := range slices.Concat(p.violating, p.dueForEnforcement) {
		if listed[q]++; q.violation == nil || p.queues[q.path] != q {
			return fmt.Errorf("queue %s is said to be above its max, and does not know or does not exist", q.path)
		}
	}
	for _, q := range p.queues {
		over := false
		for name, most := range q.conf.Max.All() {
			over = over || p.Amounts(q.AllocatedAfterPreemption()).Get(name) > most
		}
		is := over && q.managed && p.conf.QuotaPreemptionEnabled && q.conf.QuotaPreemptionDelay > 0
		switch {
		case q.recheckListed != toRecheck[q]:
			return fmt.Errorf("queue %s is wrongly listed, or not listed, for a recheck of its max", q.path)
		case is != (q.violation != nil) && !q.recheckListed:
			return fmt.Errorf("queue %s holds %v, after preemption %v; that it is above %v is recorded as %t",
				q.path, p.Amounts(q.allocated), p.Amounts(q.AllocatedAfterPreemption()), q.conf.Max, !is)
		case listed[q] != boolToInt(q.violation != nil):
			return fmt.Errorf("queue %s is listed %d times as above its max", q.path, listed[q])
		case resources.Vector(q.Excess()).IsZero() == over:
			return fmt.Errorf("queue %s says that it is above its max by %v", q.path, p.Amounts(q.Excess()))
		}
	}
	if !slices.IsSortedFunc(p.violating, compareEvaluations) {
		return fmt.Errorf("the queues above their max are out of order")
	}
	return nil
}
