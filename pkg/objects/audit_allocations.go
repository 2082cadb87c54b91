package objects

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// continueNode checks further allocations on a.node and, when all are done, its sums. stepStarted:
// this step has checked something already.
func (a *Audit) continueNode(c *recount, budget int, stepStarted bool, joining map[*Node]bool) (cost int, err error) {
	n := a.node
	if !a.p.lists.nodes.has(n) { // removed since the last step
		a.node = nil
		return 0, nil
	}
	for a.remaining = min(a.remaining, len(n.allocations)); a.remaining > 0; cost++ {
		if cost >= budget {
			return cost, nil
		}
		a.remaining--
		a.visits++
		if x := n.allocations[a.remaining]; x.node != n || !c.p.allocations.has(x) || !n.allocations.has(x, indexOnNode) {
			return cost, fmt.Errorf("node %s lists %s, which is not an allocation on it", n.ID(), x.Key())
		}
	}
	adding := 1 + len(n.allocations)/addsPerCheck
	if cost+adding > budget && (cost > 0 || stepStarted) {
		return budget, nil // the sum is made in the next step
	}
	var held resources.Vector
	for _, x := range n.allocations {
		held.Add(x.shape.Vector())
	}
	c.node[n.ID()] = c.p.Amounts(held)
	a.node = nil
	a.checked++
	return cost + adding, c.checkNode(n, joining[n])
}

// continueApp is continueNode for a.app.
func (a *Audit) continueApp(c *recount, budget int, stepStarted bool) (cost int, err error) {
	app := a.app
	if !a.p.lists.apps.has(app) {
		a.app = nil
		return 0, nil
	}
	for a.remaining = min(a.remaining, len(app.allocations)); a.remaining > 0; cost++ {
		if cost >= budget {
			return cost, nil
		}
		a.remaining--
		a.visits++
		a.checked++
		if err := c.auditAllocation(app, app.allocations[a.remaining]); err != nil {
			return cost, err
		}
	}
	adding := 1 + (len(app.allocations)+len(app.askGroups.list))/addsPerCheck
	if cost+adding > budget && (cost > 0 || stepStarted) {
		return budget, nil
	}
	a.app = nil
	a.checked++
	t := c.totalsOf(app)
	if err := c.checkTotals(app, &t); err != nil {
		return cost, err
	}
	return cost + adding, c.checkState(app)
}

// auditAllocation checks one ask or allocation of an application. The sums are made of its vector,
// so that must equal the request.
func (c *recount) auditAllocation(a *Application, x *Allocation) error {
	key := x.Key()
	switch {
	case x.app != a || !c.p.allocations.has(x) || !a.allocations.has(x, indexInApp) || x.ask.App != a.ID():
		return fmt.Errorf("%s is not an ask or allocation of its application %s", key, a.ID())
	case c.p.shapes.Find(x.ask.Request()) != x.shape || !c.p.Amounts(x.shape.Vector()).Equal(x.ask.Amounts):
		return fmt.Errorf("the shape of %s differs from its ask", key)
	case x.Pending():
		return checkInGroup(x)
	case c.p.nodes[x.node.ID()] != x.node || !x.node.allocations.has(x, indexOnNode):
		return fmt.Errorf("allocation %s is not listed by its node %s", key, x.node.ID())
	}
	return nil
}

// totalsOf adds up the asks and allocations of an application.
func (c *recount) totalsOf(a *Application) (t totals) {
	var sums [3]resources.Vector
	for _, x := range a.allocations {
		switch {
		case !x.Pending():
			t.bound++
			sums[boolToInt(x.ask.Placeholder)].Add(x.shape.Vector())
			continue
		case t.asks == 0 || policies.Pending(x.ask.Priority).Compare(t.top) > 0:
			t.top = policies.Pending(x.ask.Priority)
		}
		t.asks++
		sums[2].Add(x.shape.Vector())
	}
	for i, v := range sums {
		t.amounts[i] = c.p.Amounts(v)
	}
	return t
}
