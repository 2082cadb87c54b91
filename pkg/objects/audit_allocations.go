package objects

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// continueNode checks more of the allocations on the node that is gone through, and its sums when these
// are done. later: something was done in this step already.
func (a *Audit) continueNode(c *recount, budget int, stepStarted bool, joining map[*Node]bool) (cost int, err error) {
	n := a.node
	if !a.p.nodeList.has(n) { // it has gone since the step before
		a.node = nil
		return 0, nil
	}
	for a.remaining = min(a.remaining, len(n.allocations)); a.remaining > 0; cost++ {
		if cost >= budget {
			return cost, nil
		}
		a.remaining--
		a.visits++
		if x := n.allocations[a.remaining]; x.node != n || c.p.allocations[x.Key()] != x || !n.allocations.has(x, indexOnNode) {
			return cost, fmt.Errorf("node %s has %s, which is not there", n.id, x.Key())
		}
	}
	adding := 1 + len(n.allocations)/addsPerCheck
	if cost+adding > budget && (cost > 0 || stepStarted) {
		return budget, nil // the next step begins with it
	}
	var held resources.Vector
	for _, x := range n.allocations {
		held.Add(x.shape.vector)
	}
	c.node[n.id] = c.p.Amounts(held)
	a.node = nil
	a.checked++
	return cost + adding, c.checkNode(n, joining[n])
}

// continueApp is continueNode for the application that is gone through.
func (a *Audit) continueApp(c *recount, budget int, stepStarted bool) (cost int, err error) {
	app := a.app
	if !a.p.appList.has(app) {
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

// auditAllocation checks one ask or allocation of an application. Its vector is what is added up of it, so
// it must be what was asked for.
func (c *recount) auditAllocation(a *Application, x *Allocation) error {
	key := x.Key()
	switch {
	case x.app != a || c.p.allocations[key] != x || !a.allocations.has(x, indexInApp) || x.ask.App != a.id:
		return fmt.Errorf("%s is not known to its application %s", key, a.id)
	case c.p.shapes[shapeKey(x.ask)] != x.shape || !c.p.Amounts(x.shape.vector).Equal(x.ask.Amounts):
		return fmt.Errorf("%s has another shape than it should", key)
	case x.Pending():
		return checkInGroup(x)
	case c.p.nodes[x.node.id] != x.node || !x.node.allocations.has(x, indexOnNode):
		return fmt.Errorf("allocation %s is not known to its node %s", key, x.node.id)
	}
	return nil
}

// totalsOf adds up the work of an application.
func (c *recount) totalsOf(a *Application) (t totals) {
	var sums [3]resources.Vector
	for _, x := range a.allocations {
		switch {
		case !x.Pending():
			t.bound++
			sums[boolToInt(x.ask.Placeholder)].Add(x.shape.vector)
			continue
		case t.asks == 0 || policies.Pending(x.ask.Priority).Compare(t.top) > 0:
			t.top = policies.Pending(x.ask.Priority)
		}
		t.asks++
		sums[2].Add(x.shape.vector)
	}
	for i, v := range sums {
		t.amounts[i] = c.p.Amounts(v)
	}
	return t
}
