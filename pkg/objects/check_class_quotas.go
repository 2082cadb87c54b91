package objects

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/quota"
)

// checkClassQuotas checks the usage of class quotas, and the number of asks of each priority class.
func (c *recount) checkClassQuotas() error {
	var recount quota.ClassRecount
	refs := map[uint32]int{}
	for x := range c.p.allocations.all {
		if x.key.ClassID != 0 {
			refs[x.key.ClassID]++
		}
		recount.Add(&x.app.quota, c.p.PriorityClass(x), x.ask.Amounts)
	}
	for _, q := range c.p.queues {
		if err := recount.Check(&q.quota, c.p.names); err != nil {
			return err
		}
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
