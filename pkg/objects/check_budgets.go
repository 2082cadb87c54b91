package objects

// checkBudgets matches the budgets with all allocations again, and checks the counts.
func (c *recount) checkBudgets() error {
	return c.p.budgets.Check(c.p.conf.Budgets.All(),
		func(yield func(x *Allocation, tags map[string]string, preempting bool)) {
			for x := range c.p.allocations.all {
				if !x.Pending() && !x.ask.Placeholder {
					yield(x, x.ask.Tags(), c.p.Preempting(x))
				}
			}
		})
}
