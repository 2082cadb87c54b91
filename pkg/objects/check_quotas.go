package objects

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// checkAccount checks the account x of h in q against its members.
func (c *recount) checkAccount(q *Queue, h quota.UserOrGroup, x *quota.Account) error {
	var sum resources.Vector
	running := 0
	for _, m := range x.Members() {
		a := m.Owner().(*Application)
		if c.p.apps[a.ID()] != a || !q.IsSelfOrAncestorOf(a.queue) || !a.belongsTo(h) || !m.MemberOf(x) {
			return fmt.Errorf("application %s counts for %s in queue %s, and should not", a.ID(), h, q.path)
		}
		sum.Add(a.allocated)
		sum.Add(a.extra.placeholders)
		running += boolToInt(a.quota.CountedInLimits())
	}
	switch held, got := c.p.Amounts(sum), c.p.Amounts(x.Allocated()); {
	case !got.Equal(held):
		return fmt.Errorf("%s uses %v in queue %s; its account has %v", h, held, q.path, got)
	case x.Running() != running || len(x.Members()) == 0:
		return fmt.Errorf("%s has %d applications in queue %s, %d of them running; its account counts %d running", h,
			len(x.Members()), q.path, running, x.Running())
	}
	return x.CheckFit(c.p.shapes)
}

func (a *Application) belongsTo(h quota.UserOrGroup) bool {
	if !h.Group {
		return a.User().Name == h.Name
	}
	group, ok := a.quota.LimitGroup()
	return ok && group == h.Name
}

// checkClassQuotas checks the usage of class quotas, and the number of asks of each priority class.
func (c *recount) checkClassQuotas() error {
	var recount quota.ClassRecount
	refs := map[uint32]int{}
	for _, x := range c.p.allocations {
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

// checkBudgets matches the budgets with all allocations again, and checks the counts.
func (c *recount) checkBudgets() error {
	return c.p.budgets.Check(c.p.conf.Budgets.All(),
		func(yield func(x *Allocation, tags map[string]string, preempting bool)) {
			for _, x := range c.p.allocations {
				if !x.Pending() && !x.ask.Placeholder {
					yield(x, x.ask.Tags(), c.p.Preempting(x))
				}
			}
		})
}
