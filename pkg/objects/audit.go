package objects

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Audit recounts every total, every priority from the asks and every order from its keys, in steps between which the
// partition changes (ADR 33). Nearly all that is required of the whole follows from each object and what is directly
// below it: a node and its allocations, an application and its asks and allocations, a leaf and its applications, a
// queue and its children. The allocations of a node, or of an application, are
// checked one by one in as many steps as needed; then their sum is checked within one step, which
// costs an addition for each. So what the audit reports is an error, not a change between steps.
type Audit struct {
	p                   *Partition
	nodes, apps, queues int // the first so many of the lists of the partition are not checked yet
	node                *Node
	app                 *Application // one of node and app is being checked; nil: none
	remaining           int          // the first so many of its allocations are not checked yet
	nextWholeCheck      int          // number of checks of wholeChecks that were made
	checked             int
	visits              int // asks and allocations that were checked one by one, with application or node
}

// addsPerCheck is the number of asks or allocations that are added in the time in which one is checked.
const addsPerCheck = 30

// NewAudit begins an audit.
func (p *Partition) NewAudit() *Audit {
	return &Audit{p: p, nodes: len(p.lists.nodes.all), apps: len(p.lists.apps.all), queues: len(p.lists.queues.all)}
}

// Checked returns how many objects were checked: nodes, queues, applications, asks and allocations, the
// latter two with their applications.
func (a *Audit) Checked() int { return a.checked }

// Step checks about budget objects, or makes one of wholeChecks. It does not stop within a queue
// and its children or applications, nor within the sum of a node or an application. done:
// everything that existed from the beginning was checked, or err is an error of the accounting.
func (a *Audit) Step(budget int) (done bool, err error) {
	defer func() {
		if x := recover(); x != nil { // corrupt state may make the check panic, which must not end the process
			done, err = true, fmt.Errorf("the state cannot be checked: %v", x)
		}
	}()
	return a.step(newRecount(a.p), budget)
}

func (a *Audit) step(c *recount, budget int) (done bool, err error) {
	stepped := false
	for budget > 0 && err == nil {
		cost := 0
		switch {
		case a.node != nil:
			cost, err = a.continueNode(c, budget, stepped)
		case a.app != nil:
			cost, err = a.continueApp(c, budget, stepped)
		case decrement(&a.nodes, len(a.p.lists.nodes.all)):
			a.node = a.p.lists.nodes.all[a.nodes]
			a.remaining = len(a.node.allocations)
			continue
		case decrement(&a.apps, len(a.p.lists.apps.all)):
			a.app = a.p.lists.apps.all[a.apps]
			a.remaining = len(a.app.allocations)
			continue
		case decrement(&a.queues, len(a.p.lists.queues.all)):
			q := a.p.lists.queues.all[a.queues]
			cost, err = 1+len(q.byName)+len(q.byID), c.auditQueue(q)
			a.checked++
		case stepped:
			return false, nil
		default:
			if all := c.wholeChecks(); a.nextWholeCheck < len(all) {
				err = all[a.nextWholeCheck]()
			}
			a.nextWholeCheck++
			return err != nil || a.nextWholeCheck >= len(c.wholeChecks()), err
		}
		budget -= cost
		stepped = true
	}
	return err != nil, err
}

// decrement moves a cursor down a list that may have become shorter. ok is false at its end.
func decrement(cursor *int, length int) (ok bool) {
	*cursor = min(*cursor, length)
	if *cursor == 0 {
		return false
	}
	*cursor--
	return true
}

// wholeChecks are the checks that cannot be divided, each a step. Those that look at all
// allocations are made only if budgets or class quotas need them.
func (c *recount) wholeChecks() []func() error {
	all := []func() error{c.checkCluster, c.checkLists, c.checkPreemption, c.checkGangs, c.checkEnded, c.checkNames}
	for _, x := range c.p.journal.attached {
		if x, ok := x.(Checker); ok {
			all = append(all, func() error { return x.Check(c.thorough) })
		}
	}
	if len(c.p.conf.Budgets.All()) > 0 || len(c.p.budgets.All()) > 0 {
		all = append(all, c.checkBudgets)
	}
	return append(all, c.checkClassQuotasIfUsed)
}

// checkClassQuotasIfUsed is checkClassQuotas, if there is anything to check.
func (c *recount) checkClassQuotasIfUsed() error {
	names := &c.p.classNumbers
	if !c.p.quotas.HasClassQuotas() && len(names.numbers) == 0 {
		return nil
	}
	return c.checkClassQuotas()
}

func (c *recount) auditQueue(q *Queue) error {
	var t queueTotals
	var allocated, pending resources.Vector
	for _, child := range q.byName {
		allocated.Add(child.Allocated())
		pending.Add(child.Pending())
		t.bound, t.running = t.bound+child.BoundCount(), t.running+child.Running()
	}
	for _, a := range q.byID {
		allocated.Add(a.allocated)
		allocated.Add(a.extra.placeholders)
		pending.Add(a.pending)
		t.bound, t.running = t.bound+int(a.boundCount), t.running+boolToInt(a.quota.CountedRunning())
	}
	t.amounts = [2]resources.Amounts{c.p.Amounts(allocated), c.p.Amounts(pending)}
	for h, x := range q.quota.Accounts() {
		if err := c.checkAccount(q, h, x); err != nil {
			return err
		}
	}
	return c.checkQueue(q, &t)
}

// continueNode checks further allocations on a.node and, when all are done, its sums. stepStarted:
// this step has checked something already.
func (a *Audit) continueNode(c *recount, budget int, stepStarted bool) (cost int, err error) {
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
		if x := n.allocations[a.remaining]; x.node != n || !c.knows(x) || !n.allocations.has(x, indexOnNode) {
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
	a.node = nil
	a.checked++
	return cost + adding, c.checkNode(n, c.p.Amounts(held))
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
	case x.app != a || !c.knows(x) || !a.allocations.has(x, indexInApp) || x.ask.App != a.ID():
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
