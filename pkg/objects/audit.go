package objects

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Audit checks the books of a partition as Check does, bit by bit, while they change (ADR 33).
// Nearly all that Check says of the whole is so because it is so of each object and what is
// directly below it: a node and its work, an application and its work, a leaf and its
// applications, a queue and its children. Each of these is checked whole between two changes,
// so what is found is wrong.
type Audit struct {
	p                   *Partition
	nodes, apps, queues int // of the lists of the partition, the first so many have not been checked
	whole               int // checks of wholes that were made
	checked             int
}

// NewAudit begins an audit.
func (p *Partition) NewAudit() *Audit {
	return &Audit{p: p, nodes: len(p.nodeList.all), apps: len(p.appList.all), queues: len(p.queueList.all)}
}

// Checked is how many objects were checked: nodes, queues, applications, and asks and allocations
// with their applications.
func (a *Audit) Checked() int { return a.checked }

// Step goes on until about budget objects were looked at, never stopping within a node, an
// application or a queue and what is directly below it, or makes one of the checks of a whole.
// done: everything that was there from the beginning was checked, or something is wrong.
func (a *Audit) Step(budget int) (done bool, err error) {
	defer func() {
		if x := recover(); x != nil { // damage that the check itself stumbles over must not end the process
			done, err = true, fmt.Errorf("the books cannot be checked: %v", x)
		}
	}()
	c := recount{
		p: a.p, node: map[NodeID]resources.Amounts{}, queue: map[QueuePath][2]resources.Amounts{},
		app: map[AppID][3]resources.Amounts{}, asks: map[AppID][]*Allocation{}, bound: map[AppID]int{},
		running: map[*Queue]int{}, held: map[*account]heldSums{},
	}
	joining := a.p.joiningNodes()
	stepped := false
	for budget > 0 && err == nil {
		cost := 0
		switch {
		case down(&a.nodes, len(a.p.nodeList.all)):
			n := a.p.nodeList.all[a.nodes]
			cost, err = 1+len(n.work), c.auditNode(n, joining[n])
			a.checked++
		case down(&a.apps, len(a.p.appList.all)):
			x := a.p.appList.all[a.apps]
			cost, err = 1+len(x.work), c.auditApplication(x)
			a.checked += cost
		case down(&a.queues, len(a.p.queueList.all)):
			q := a.p.queueList.all[a.queues]
			cost, err = 1+len(q.byName)+len(q.byID), c.auditQueue(q)
			a.checked++
		case stepped:
			return false, nil
		default:
			if all := c.wholes(); a.whole < len(all) {
				err = all[a.whole]()
			}
			a.whole++
			return err != nil || a.whole >= len(c.wholes()), err
		}
		budget -= cost
		stepped = true
	}
	return err != nil, err
}

// down moves a cursor down a list that may have become shorter. ok is false at its end.
func down(cursor *int, length int) (ok bool) {
	if *cursor = min(*cursor, length); *cursor == 0 {
		return false
	}
	*cursor--
	return true
}

// wholes are the checks of what has to be looked at as a whole, each of them a step. Those of
// all work are made only where there is something that needs them.
func (c *recount) wholes() []func() error {
	all := []func() error{c.p.checkCluster, c.p.checkLists, c.nominations, c.p.checkEnds, c.p.checkAbove, c.p.checkNames}
	if len(c.p.conf.Budgets.All()) > 0 || len(c.p.guards.all) > 0 || len(c.p.guards.of) > 0 {
		all = append(all, c.budgets)
	}
	return append(all, c.classesOfWork)
}

// classesOfWork is classQuotas, if there is anything that it could find.
func (c *recount) classesOfWork() error {
	names := &c.p.classNames
	if !c.p.metered && len(names.numbers) == 0 && !c.p.isMetered() {
		return nil
	}
	return c.classQuotas()
}

func (c *recount) auditNode(n *Node, joining bool) error {
	for _, x := range n.work {
		if x.node != n || c.p.work[x.Key()] != x || !n.work.has(x, placeOnNode) {
			return fmt.Errorf("node %s has %s, which is not there", n.id, x.Key())
		}
		c.node[n.id] = c.node[n.id].Add(x.ask.Amounts)
	}
	return c.oneNode(n, joining)
}

func (c *recount) auditApplication(a *Application) error {
	sums, ids := [3]resources.Amounts{}, a.id
	for _, x := range a.work {
		key, book := x.Key(), 2
		if x.app != a || c.p.work[key] != x || !a.work.has(x, placeInApp) || x.ask.App != ids {
			return fmt.Errorf("%s is not known to its application %s", key, ids)
		}
		if c.p.shapes[shapeKey(x.ask)] != x.shape {
			return fmt.Errorf("%s has another shape than it should", key)
		}
		if x.Pending() {
			c.asks[ids] = append(c.asks[ids], x)
		} else {
			c.bound[ids]++
			if c.p.nodes[x.node.id] != x.node || !x.node.work.has(x, placeOnNode) {
				return fmt.Errorf("allocation %s is not known to its node %s", key, x.node.id)
			}
			book = count(x.ask.Placeholder)
		}
		sums[book] = sums[book].Add(x.ask.Amounts)
	}
	c.app[ids] = sums
	if err := c.application(a); err != nil {
		return err
	}
	return c.life(a)
}

// seats checks that a is a member of all accounts that it should be in.
func (c *recount) seats(a *Application) error {
	group, grouped := a.limitGroup()
	want := 0
	for q := a.queue; q != nil; q = q.parent {
		if _, ok := limits.OfUser(q.conf.Limits, a.user.Name); ok {
			want++
		}
		if _, ok := limits.OfGroup(q.conf.Limits, group); ok && grouped {
			want++
		}
	}
	if want != len(a.seats) {
		return fmt.Errorf("%d limits are about application %s, it counts in %d", want, a.id, len(a.seats))
	}
	return nil
}

func (c *recount) auditQueue(q *Queue) error {
	allocated, pending := resources.Vector{}, resources.Vector{}
	for _, child := range q.byName {
		allocated.Add(child.allocated)
		pending.Add(child.pending)
		c.running[q] += child.running
	}
	for id, a := range q.byID {
		allocated.Add(a.allocated)
		allocated.Add(a.placeholders)
		pending.Add(a.pending)
		c.bound[id] = a.bound
		c.running[q] += count(a.counted)
	}
	c.queue[q.path] = [2]resources.Amounts{c.p.Amounts(allocated), c.p.Amounts(pending)}
	for h, x := range q.accounts {
		var held resources.Vector
		sums := heldSums{members: len(x.members)}
		for _, a := range x.members {
			if c.p.apps[a.id] != a || !q.Above(a.queue) || !a.isOf(h) || !a.sits(x) {
				return fmt.Errorf("application %s counts for %s in queue %s, and should not", a.id, h, q.path)
			}
			held.Add(a.allocated)
			held.Add(a.placeholders)
			sums.running += count(a.charged)
		}
		sums.amounts = c.p.Amounts(held)
		c.held[x] = sums
	}
	return c.oneQueue(q)
}
