package objects

import (
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// checkAbove checks that exactly those queues are listed as above a max that is enforced
// which are, by the names and numbers of the configuration.
func (p *Partition) checkAbove() error {
	listed, doubtful := map[*Queue]int{}, map[*Queue]bool{}
	for _, q := range p.doubtful {
		doubtful[q] = true
	}
	for _, q := range slices.Concat(p.above, p.due) {
		if listed[q]++; q.above == nil || p.queues[q.path] != q {
			return fmt.Errorf("queue %s is said to be above its max, and does not know or does not exist", q.path)
		}
	}
	for _, q := range p.queues {
		over := false
		for name, most := range q.conf.Max.All() {
			over = over || p.Amounts(q.Staying()).Get(name) > most
		}
		is := over && q.managed && p.conf.QuotaPreemption && q.conf.QuotaDelay > 0
		switch {
		case q.doubted != doubtful[q]:
			return fmt.Errorf("queue %s does not know whether it is in doubt", q.path)
		case is != (q.above != nil) && !q.doubted:
			return fmt.Errorf("queue %s holds %v, of which %v stays; that it is above %v is said to be %t",
				q.path, p.Amounts(q.allocated), p.Amounts(q.Staying()), q.conf.Max, !is)
		case listed[q] != count(q.above != nil):
			return fmt.Errorf("queue %s is listed %d times as above its max", q.path, listed[q])
		case resources.Vector(q.Excess()).IsZero() == over:
			return fmt.Errorf("queue %s says that it is above its max by %v", q.path, p.Amounts(q.Excess()))
		}
	}
	if !slices.IsSortedFunc(p.above, compareLooks) {
		return fmt.Errorf("the queues above their max are out of order")
	}
	return nil
}
