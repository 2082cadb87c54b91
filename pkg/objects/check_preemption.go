package objects

import (
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// checkPreemption checks preempting allocations, nominations, and their totals.
func (c *recount) checkPreemption() error {
	held := map[*Node]resources.Amounts{}
	preempting, overdue, nominated := map[*Queue]resources.Amounts{}, map[*Queue]resources.Amounts{},
		map[*Queue]resources.Amounts{}
	notOverdue := 0
	for x, d := range c.p.marks.preempting {
		if !c.knows(x) || x.Pending() {
			return fmt.Errorf("%s is marked for preemption and does not run", x.Key())
		}
		if d.overdue {
			for q := x.app.queue; q != nil; q = q.parent {
				overdue[q] = overdue[q].Add(x.ask.Amounts)
			}
			continue
		}
		notOverdue++
		if !slices.Contains(x.node.extra.preempting, x) {
			return fmt.Errorf("node %s does not list %s, which is marked for preemption", x.node.ID(), x.Key())
		}
		for q := x.app.queue; q != nil; q = q.parent {
			preempting[q] = preempting[q].Add(x.ask.Amounts)
		}
	}
	if len(c.p.marks.nominees) != len(c.p.marks.nominated) {
		return fmt.Errorf("%d asks are nominated, %d are listed", len(c.p.marks.nominated), len(c.p.marks.nominees))
	}
	for _, x := range c.p.marks.nominees {
		n := c.p.marks.nominated[x].node
		if n == nil || c.p.nodes[n.ID()] != n || !n.Accepts(x.shape) || !c.knows(x) || !x.Pending() {
			return fmt.Errorf("%s is listed as a nominee without a nomination for a node that accepts it", x.Key())
		}
		if !slices.Contains(n.extra.nominees, x) {
			return fmt.Errorf("node %s does not list its nominee %s", n.ID(), x.Key())
		}
		held[n] = held[n].Add(x.ask.Amounts)
		for q := x.app.queue; q != nil; q = q.parent {
			nominated[q] = nominated[q].Add(x.ask.Amounts)
		}
	}
	if err := c.checkReservations(held); err != nil {
		return err
	}
	replacing, listed, nominees := c.heldForReplacements(held), 0, 0
	for _, n := range c.p.nodes {
		listed, nominees, replacing = listed+len(n.extra.preempting), nominees+len(n.extra.nominees),
			replacing-len(n.extra.replacing)
		if got := c.p.Amounts(n.extra.held); !got.Equal(held[n]) {
			return fmt.Errorf("node %s holds %v, the asks for which it holds resources request %v", n.ID(), got, held[n])
		}
	}
	if replacing != 0 {
		return fmt.Errorf("nodes do not list all asks that replace placeholders of other nodes: %d", replacing)
	}
	if listed != notOverdue || nominees != len(c.p.marks.nominees) {
		return fmt.Errorf("nodes list %d preempting allocations and %d nominees, there are %d and %d",
			listed, nominees, notOverdue, len(c.p.marks.nominees))
	}
	for _, q := range c.p.queues {
		if got := c.p.Amounts(q.quota.ExpectedRelease()); !got.Equal(preempting[q]) {
			return fmt.Errorf("queue %s expects the release of %v, the sum of its preempting allocations is %v", q.path, got,
				preempting[q])
		}
		if got := c.p.Amounts(q.quota.OverdueRelease()); !got.Equal(overdue[q]) {
			return fmt.Errorf("queue %s has overdue releases of %v, the sum of its overdue allocations is %v", q.path, got,
				overdue[q])
		}
		if got := c.p.Amounts(q.quota.Nominated()); !got.Equal(nominated[q]) {
			return fmt.Errorf("queue %s has nominated %v, the sum of its nominated asks is %v", q.path, got, nominated[q])
		}
	}
	return nil
}
