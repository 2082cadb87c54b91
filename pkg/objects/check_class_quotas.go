package objects

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// classQuotaTotal is what should count in a class quota, for one user or group if it is scoped.
type classQuotaTotal struct {
	amounts resources.Amounts
	pods    int
}

// checkClassQuotas checks the usage of class quotas, and the number of asks of each priority class.
func (c *recount) checkClassQuotas() error {
	want, refs := map[*Queue]map[classUsageID]classQuotaTotal{}, map[uint32]int{}
	for _, x := range c.p.allocations {
		if x.key.ClassID != 0 {
			refs[x.key.ClassID]++
		}
		c.p.eachClassQuota(x.app, c.p.PriorityClass(x), func(at classQuotaRef) bool {
			if want[at.queue] == nil {
				want[at.queue] = map[classUsageID]classQuotaTotal{}
			}
			sum := want[at.queue][at.id]
			want[at.queue][at.id] = classQuotaTotal{sum.amounts.Add(x.ask.Amounts), sum.pods + 1}
			return true
		})
	}
	for _, q := range c.p.queues {
		if len(q.classUsage) != len(want[q]) {
			return fmt.Errorf("queue %s has %d usages of class quotas; there are %d", q.path, len(q.classUsage), len(want[q]))
		}
		for id, m := range q.classUsage {
			if w := want[q][id]; m.pods != w.pods || !c.p.Amounts(m.used).Equal(w.amounts) {
				return fmt.Errorf("quota %s of queue %s counts %d asks with %v for %v, there are %d with %v",
					id.quota, q.path, m.pods, c.p.Amounts(m.used), id.userOrGroup, w.pods, w.amounts)
			}
		}
	}
	if !c.p.quotas.hasClassQuotas && c.p.anyClassQuotas() {
		return fmt.Errorf("there are class quotas, and their usage is not counted")
	}
	return c.checkClassNumbers(refs)
}

func (c *recount) checkClassNumbers(refs map[uint32]int) error {
	names := &c.p.classNumbers
	if len(names.numbers) != len(refs) || len(names.named) != len(refs)+len(names.free) {
		return fmt.Errorf("%d priority classes have numbers and %d numbers are free; asks and allocations have %d classes",
			len(names.numbers), len(names.free), len(refs))
	}
	for name, n := range names.numbers {
		if x := names.named[n-1]; x.name != name || x.refs != refs[n] {
			return fmt.Errorf("priority class %s counts %d asks and allocations; there are %d", name, x.refs, refs[n])
		}
	}
	return nil
}
