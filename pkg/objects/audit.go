package objects

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Audit checks the books of a partition as Check does, bit by bit, while they change (ADR 33).
// Nearly all that Check says of the whole is so because it is so of each object and what is
// directly below it: a node and its work, an application and its work, a leaf and its
// applications, a queue and its children. The work of a node or an application is gone through in as
// many steps as it takes, each ask and allocation on its own; then its sums are checked between
// two changes, which costs an addition for each. So what is found is wrong.
type Audit struct {
	p                   *Partition
	nodes, apps, queues int // of the lists of the partition, the first so many have not been checked
	node                *Node
	app                 *Application // one of these is gone through; nil: none
	left                int          // of its work, the first so many have not been checked
	whole               int          // checks of wholes that were made
	checked             int
	visits              int // asks and allocations that were checked one by one, each with its node too
}

// addsPerCheck is how many asks or allocations are added up in the time in which one is checked.
const addsPerCheck = 30

// NewAudit begins an audit.
func (p *Partition) NewAudit() *Audit {
	return &Audit{p: p, nodes: len(p.nodeList.all), apps: len(p.appList.all), queues: len(p.queueList.all)}
}

// Checked is how many objects were checked: nodes, queues, applications, and asks and allocations
// with their applications.
func (a *Audit) Checked() int { return a.checked }

// Step goes on until about budget objects were looked at, or makes one of the checks of a whole. It
// never stops within a queue and what is directly below it, nor while it adds up the work of a
// node or an application. done: everything that was there from the beginning was checked, or
// something is wrong.
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
		case a.node != nil:
			cost, err = a.goOnNode(&c, budget, stepped, joining)
		case a.app != nil:
			cost, err = a.goOnApp(&c, budget, stepped)
		case down(&a.nodes, len(a.p.nodeList.all)):
			a.node = a.p.nodeList.all[a.nodes]
			a.left = len(a.node.work)
			continue
		case down(&a.apps, len(a.p.appList.all)):
			a.app = a.p.appList.all[a.apps]
			a.left = len(a.app.work)
			continue
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
