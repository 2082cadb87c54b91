package objects

import "github.com/canopy-scheduler/canopy/pkg/quota"

// checkViolations checks that exactly the queues above an enforced max are listed, by the names and
// quantities of the configuration.
func (c *recount) checkViolations() error {
	p := c.p
	e := &p.journal.enforcement
	listed, err := e.CheckOrder(func(x *quota.Queue) bool { return p.queueOf(x) != nil })
	if err != nil {
		return err
	}
	for _, q := range p.queues {
		over, used := false, p.Amounts(q.quota.AllocatedAfterPreemption())
		for name, limit := range q.conf.Max.All() {
			over = over || used.Get(name) > limit
		}
		violating := over && q.managed && p.conf.QuotaPreemptionEnabled && q.conf.QuotaPreemptionDelay > 0
		if err := e.Check(&q.quota, over, violating, listed[&q.quota]); err != nil {
			return err
		}
	}
	return nil
}
