package objects

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// memberTotals is the sum over the members of an account.
type memberTotals struct {
	amounts          resources.Amounts
	members, running int
}

// countApps adds up the applications of each queue and each account. Requires: c.app has the sums
// of their asks and allocations.
func (c *recount) countApps() {
	c.running, c.memberTotals = map[*Queue]int{}, map[*quota.Account]memberTotals{}
	for _, a := range c.p.apps {
		group, grouped := a.quota.LimitGroup()
		sums := c.app[a.ID()]
		for q := a.queue; q != nil; q = q.parent {
			c.running[q] += boolToInt(a.quota.CountedRunning())
			c.addToAccount(q.quota.Accounts()[quota.UserOrGroup{Name: a.User().Name}], a, sums)
			if grouped {
				c.addToAccount(q.quota.Accounts()[quota.UserOrGroup{Group: true, Name: group}], a, sums)
			}
		}
	}
}

func (c *recount) addToAccount(x *quota.Account, a *Application, sums [3]resources.Amounts) {
	if x != nil {
		h := c.memberTotals[x]
		c.memberTotals[x] = memberTotals{h.amounts.Add(sums[0]).Add(sums[1]), h.members + 1,
			h.running + boolToInt(a.quota.CountedInLimits())}
	}
}

// checkAccounts checks the number of running applications in and below q, and the accounts of q.
// Requires: countApps.
func (c *recount) checkAccounts(q *Queue) error {
	if n := c.running[q]; n != q.Running() {
		return fmt.Errorf("queue %s counts %d running applications, there are %d", q.path, q.Running(), n)
	}
	for h, x := range q.quota.Accounts() {
		held := c.memberTotals[x]
		switch {
		case !c.p.Amounts(x.Allocated()).Equal(held.amounts):
			return fmt.Errorf("%s uses %v in queue %s; its account has %v", h, held.amounts, q.path, c.p.Amounts(x.Allocated()))
		case x.Running() != held.running || len(x.Members()) != held.members || held.members == 0:
			return fmt.Errorf("%s has %d applications in queue %s, %d of them running; its account counts %d and %d",
				h, held.members, q.path, held.running, len(x.Members()), x.Running())
		}
		if err := x.CheckFit(c.p.shapes); err != nil {
			return err
		}
	}
	return nil
}

func (a *Application) belongsTo(h quota.UserOrGroup) bool {
	if !h.Group {
		return a.User().Name == h.Name
	}
	group, ok := a.quota.LimitGroup()
	return ok && group == h.Name
}
