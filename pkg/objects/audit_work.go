package objects

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// goOnNode checks more of the allocations on the node that is gone through, and its sums when these
// are done. later: something was done in this step already.
func (a *Audit) goOnNode(c *recount, budget int, later bool, joining map[*Node]bool) (cost int, err error) {
	n := a.node
	if !a.p.nodeList.has(n) { // it has gone since the step before
		a.node = nil
		return 0, nil
	}
	for a.left = min(a.left, len(n.work)); a.left > 0; cost++ {
		if cost >= budget {
			return cost, nil
		}
		a.left--
		a.visits++
		if x := n.work[a.left]; x.node != n || c.p.work[x.Key()] != x || !n.work.has(x, placeOnNode) {
			return cost, fmt.Errorf("node %s has %s, which is not there", n.id, x.Key())
		}
	}
	adding := 1 + len(n.work)/addsPerCheck
	if cost+adding > budget && (cost > 0 || later) {
		return budget, nil // the next step begins with it
	}
	var held resources.Vector
	for _, x := range n.work {
		held.Add(x.shape.vector)
	}
	c.node[n.id] = c.p.Amounts(held)
	a.node = nil
	a.checked++
	return cost + adding, c.oneNode(n, joining[n])
}

// goOnApp is goOnNode for the application that is gone through.
func (a *Audit) goOnApp(c *recount, budget int, later bool) (cost int, err error) {
	app := a.app
	if !a.p.appList.has(app) {
		a.app = nil
		return 0, nil
	}
	for a.left = min(a.left, len(app.work)); a.left > 0; cost++ {
		if cost >= budget {
			return cost, nil
		}
		a.left--
		a.visits++
		a.checked++
		if err := c.auditWork(app, app.work[a.left]); err != nil {
			return cost, err
		}
	}
	adding := 1 + (len(app.work)+len(app.classes.list))/addsPerCheck
	if cost+adding > budget && (cost > 0 || later) {
		return budget, nil
	}
	a.app = nil
	a.checked++
	t := c.add(app)
	if err := c.sums(app, &t); err != nil {
		return cost, err
	}
	return cost + adding, c.life(app)
}

// auditWork checks one ask or allocation of an application. Its vector is what is added up of it, so
// it must be what was asked for.
func (c *recount) auditWork(a *Application, x *Allocation) error {
	key := x.Key()
	switch {
	case x.app != a || c.p.work[key] != x || !a.work.has(x, placeInApp) || x.ask.App != a.id:
		return fmt.Errorf("%s is not known to its application %s", key, a.id)
	case c.p.shapes[shapeKey(x.ask)] != x.shape || !c.p.Amounts(x.shape.vector).Equal(x.ask.Amounts):
		return fmt.Errorf("%s has another shape than it should", key)
	case x.Pending():
		return checkInClass(x)
	case c.p.nodes[x.node.id] != x.node || !x.node.work.has(x, placeOnNode):
		return fmt.Errorf("allocation %s is not known to its node %s", key, x.node.id)
	}
	return nil
}

// add adds up the work of an application.
func (c *recount) add(a *Application) (t totals) {
	var books [3]resources.Vector
	for _, x := range a.work {
		switch {
		case !x.Pending():
			t.bound++
			books[count(x.ask.Placeholder)].Add(x.shape.vector)
			continue
		case t.asks == 0 || policies.Pending(x.ask.Priority).Compare(t.top) > 0:
			t.top = policies.Pending(x.ask.Priority)
		}
		t.asks++
		books[2].Add(x.shape.vector)
	}
	for i, v := range books {
		t.books[i] = c.p.Amounts(v)
	}
	return t
}
