package objects

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Audit checks the accounting of a partition as Check does, in steps between which it changes (ADR
// 33). Nearly all that Check requires of the whole follows from each object and what is directly
// below it: a node and its allocations, an application and its asks and allocations, a leaf and its
// applications, a queue and its children. The allocations of a node, or of an application, are
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

// addsPerCheck is how many asks or allocations are added in the time in which one is checked.
const addsPerCheck = 30

// NewAudit begins an audit.
func (p *Partition) NewAudit() *Audit {
	return &Audit{p: p, nodes: len(p.lists.nodes.all), apps: len(p.lists.apps.all), queues: len(p.lists.queues.all)}
}

// Checked is how many objects were checked: nodes, queues, applications, asks and allocations, the
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
	c := recount{
		p: a.p, node: map[NodeID]resources.Amounts{}, queue: map[QueuePath][2]resources.Amounts{},
		app: map[AppID][3]resources.Amounts{}, asks: map[AppID][]*Allocation{}, bound: map[AppID]int{},
		running: map[*Queue]int{}, memberTotals: map[*quota.Account]memberTotals{},
	}
	joining := c.joiningNodes()
	stepped := false
	for budget > 0 && err == nil {
		cost := 0
		switch {
		case a.node != nil:
			cost, err = a.continueNode(&c, budget, stepped, joining)
		case a.app != nil:
			cost, err = a.continueApp(&c, budget, stepped)
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
	all := []func() error{c.checkCluster, c.checkLists, c.checkPreemption, c.checkGangs, c.checkEnded, c.checkViolations,
		c.checkNames}
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
	allocated, pending := resources.Vector{}, resources.Vector{}
	for _, child := range q.byName {
		allocated.Add(child.Allocated())
		pending.Add(child.Pending())
		c.running[q] += child.Running()
	}
	for id, a := range q.byID {
		allocated.Add(a.allocated)
		allocated.Add(a.extra.placeholders)
		pending.Add(a.pending)
		c.bound[id] = int(a.boundCount)
		c.running[q] += boolToInt(a.quota.CountedRunning())
	}
	c.queue[q.path] = [2]resources.Amounts{c.p.Amounts(allocated), c.p.Amounts(pending)}
	for h, x := range q.quota.Accounts() {
		var held resources.Vector
		sums := memberTotals{members: len(x.Members())}
		for _, m := range x.Members() {
			a := m.Owner().(*Application)
			if c.p.apps[a.ID()] != a || !q.IsSelfOrAncestorOf(a.queue) || !a.belongsTo(h) || !m.MemberOf(x) {
				return fmt.Errorf("application %s counts for %s in queue %s, and should not", a.ID(), h, q.path)
			}
			held.Add(a.allocated)
			held.Add(a.extra.placeholders)
			sums.running += boolToInt(a.quota.CountedInLimits())
		}
		sums.amounts = c.p.Amounts(held)
		c.memberTotals[x] = sums
	}
	return c.checkQueue(q)
}
