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
	c.running, c.memberTotals = map[*Queue]int{}, map[*account]memberTotals{}
	for _, a := range c.p.apps {
		group, grouped := a.limitGroup()
		sums := c.app[a.id]
		for q := a.queue; q != nil; q = q.parent {
			c.running[q] += boolToInt(a.countedRunning)
			c.addToAccount(q.accounts[quota.UserOrGroup{Name: a.User().Name}], a, sums)
			if grouped {
				c.addToAccount(q.accounts[quota.UserOrGroup{Group: true, Name: group}], a, sums)
			}
		}
	}
}

func (c *recount) addToAccount(x *account, a *Application, sums [3]resources.Amounts) {
	if x != nil {
		h := c.memberTotals[x]
		c.memberTotals[x] = memberTotals{h.amounts.Add(sums[0]).Add(sums[1]), h.members + 1, h.running + boolToInt(a.countedInLimits)}
	}
}

// checkAccounts checks the number of running applications in and below q, and the accounts of q.
// Requires: countApps.
func (c *recount) checkAccounts(q *Queue) error {
	if n := c.running[q]; n != q.Running() {
		return fmt.Errorf("queue %s counts %d running applications, there are %d", q.path, q.Running(), n)
	}
	for h, x := range q.accounts {
		held := c.memberTotals[x]
		switch {
		case !c.p.Amounts(x.allocated).Equal(held.amounts):
			return fmt.Errorf("%s uses %v in queue %s; its account has %v", h, held.amounts, q.path, c.p.Amounts(x.allocated))
		case x.running != held.running || len(x.members) != held.members || held.members == 0:
			return fmt.Errorf("%s has %d applications in queue %s, %d of them running; its account counts %d and %d",
				h, held.members, q.path, held.running, len(x.members), x.running)
		}
		for s := range c.p.shapes.Slots {
			if x.fit.Has(s.Slot()) != x.allows(s) {
				return fmt.Errorf("the mask of %s in queue %s is wrong for shape %v", h, q.path, s.Vector())
			}
		}
	}
	return nil
}

func (a *Application) belongsTo(h quota.UserOrGroup) bool {
	if !h.Group {
		return a.User().Name == h.Name
	}
	group, ok := a.limitGroup()
	return ok && group == h.Name
}
