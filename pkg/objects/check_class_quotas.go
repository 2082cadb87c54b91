package objects

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// classQuotaTotal is what should count in a class quota for somebody.
type classQuotaTotal struct {
	amounts resources.Amounts
	pods    int
}

// checkClassQuotas checks what is counted by class, and how many asks are of each class.
func (c *recount) checkClassQuotas() error {
	want, users := map[*Queue]map[classUsageID]classQuotaTotal{}, map[uint32]int{}
	for _, x := range c.p.allocations {
		if x.key.ClassID != 0 {
			users[x.key.ClassID]++
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
			return fmt.Errorf("queue %s counts by class in %d places, it is %d", q.path, len(q.classUsage), len(want[q]))
		}
		for id, m := range q.classUsage {
			if w := want[q][id]; m.pods != w.pods || !c.p.Amounts(m.used).Equal(w.amounts) {
				return fmt.Errorf("quota %s of queue %s counts %d asks with %v for %v, there are %d with %v",
					id.quota, q.path, m.pods, c.p.Amounts(m.used), id.userOrGroup, w.pods, w.amounts)
			}
		}
	}
	if !c.p.hasClassQuotas && c.p.anyClassQuotas() {
		return fmt.Errorf("there are class quotas, and their use is not counted")
	}
	return c.checkClassNumbers(users)
}

func (c *recount) checkClassNumbers(users map[uint32]int) error {
	names := &c.p.classNumbers
	if len(names.numbers) != len(users) || len(names.named) != len(users)+len(names.free) {
		return fmt.Errorf("%d priority classes are numbered and %d numbers free, work is of %d",
			len(names.numbers), len(names.free), len(users))
	}
	for name, n := range names.numbers {
		if x := names.named[n-1]; x.name != name || x.refs != users[n] {
			return fmt.Errorf("priority class %s is said to have %d asks, it has %d", name, x.refs, users[n])
		}
	}
	return nil
}
