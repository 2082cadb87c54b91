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
