package objects

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// classed is what should count in a class quota for somebody.
type classed struct {
	amounts resources.Amounts
	pods    int
}

// classQuotas checks what is counted by class, and how many asks are of each class.
func (c *recount) classQuotas() error {
	want, users := map[*Queue]map[meterID]classed{}, map[uint32]int{}
	for _, x := range c.p.work {
		if x.key.Mark != 0 {
			users[x.key.Mark]++
		}
		c.p.eachQuota(x.app, c.p.PriorityClass(x), func(at counted) bool {
			if want[at.queue] == nil {
				want[at.queue] = map[meterID]classed{}
			}
			sum := want[at.queue][at.id]
			want[at.queue][at.id] = classed{sum.amounts.Add(x.ask.Amounts), sum.pods + 1}
			return true
		})
	}
	for _, q := range c.p.queues {
		if len(q.meters) != len(want[q]) {
			return fmt.Errorf("queue %s counts by class in %d places, it is %d", q.path, len(q.meters), len(want[q]))
		}
		for id, m := range q.meters {
			if w := want[q][id]; m.pods != w.pods || !c.p.Amounts(m.used).Equal(w.amounts) {
				return fmt.Errorf("quota %s of queue %s counts %d asks with %v for %v, there are %d with %v",
					id.quota, q.path, m.pods, c.p.Amounts(m.used), id.holder, w.pods, w.amounts)
			}
		}
	}
	if !c.p.metered && c.p.isMetered() {
		return fmt.Errorf("there are class quotas, and nobody counts")
	}
	return c.classNames(users)
}

func (c *recount) classNames(users map[uint32]int) error {
	names := &c.p.classNames
	if len(names.numbers) != len(users) || len(names.named) != len(users)+len(names.free) {
		return fmt.Errorf("%d priority classes are numbered and %d numbers free, work is of %d",
			len(names.numbers), len(names.free), len(users))
	}
	for name, n := range names.numbers {
		if x := names.named[n-1]; x.name != name || x.users != users[n] {
			return fmt.Errorf("priority class %s is said to have %d asks, it has %d", name, x.users, users[n])
		}
	}
	return nil
}
