package objects

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Check is an Audit in one step, with what costs too much for a running scheduler: the counts of shapes, budgets
// and affinity. A Partition is consistent if it returns no error. Tests and the health check call it;
// scheduling does not.
func (p *Partition) Check() error {
	a, c := p.NewAudit(), newRecount(p)
	c.thorough = true
	if _, err := a.step(c, math.MaxInt); err != nil {
		return err
	}
	if got := p.UnschedulableCount(); got != c.unschedulable && !p.journal.retries.requeueRequested {
		return fmt.Errorf("%d asks are counted as unschedulable, %d are", got, c.unschedulable)
	}
	for _, check := range append(c.wholeChecks(), c.checkShapes, c.checkBudgets, c.checkClassQuotas) {
		if err := check(); err != nil {
			return err
		}
	}
	return cmp.Or(checkShared(), checkOrphans(p))
}

// recount is the totals of a partition as they should be.
type recount struct {
	p             *Partition
	joining       map[*Node]bool // nodes that are not in the node order yet
	unschedulable int            // asks of the applications that were checked
	thorough      bool           // also what costs too much for a running scheduler
}

func newRecount(p *Partition) *recount {
	c := &recount{p: p, joining: map[*Node]bool{}}
	for _, n := range p.journal.order.joining {
		c.joining[n] = n.schedulable && !n.entry.Indexed()
	}
	return c
}

// checkShapes counts how many asks and allocations have each shape.
func (c *recount) checkShapes() error {
	shaped := map[*feasibility.Shape]int{}
	for _, x := range c.p.allocations {
		shaped[x.shape]++
	}
	if len(shaped) != c.p.shapes.Len() {
		return fmt.Errorf("the partition counts %d shapes; there are %d", c.p.shapes.Len(), len(shaped))
	}
	for s, n := range shaped {
		if s.Users() != n {
			return fmt.Errorf("shape %v counts %d asks and allocations; there are %d", s.Amounts(), s.Users(), n)
		}
	}
	return nil
}

// checkNode checks a node, whose allocations hold an amount.
func (c *recount) checkNode(n *Node, held resources.Amounts) error {
	id := n.ID()
	var occupied resources.Amounts
	for key, f := range n.foreign {
		if c.p.foreign.byKey[key] != f {
			return fmt.Errorf("foreign allocation %s of node %s is not registered", key, id)
		}
		occupied = occupied.Add(f.Amounts)
	}
	want := c.p.Amounts(n.total).Sub(held).Sub(occupied)
	if got := c.p.Amounts(n.allocated); !got.Equal(held) {
		return fmt.Errorf("node %s has allocated %v; the sum of its allocations is %v", id, got, held)
	}
	if got := c.p.Amounts(n.available); !got.Equal(want) {
		return fmt.Errorf("node %s has available %v; capacity less allocations and foreign usage is %v", id, got, want)
	}
	listed := n.schedulable && !c.joining[n] || !n.schedulable && !n.entry.Mask.Empty()
	if n.key.Score != c.p.journal.order.scorer.score(n) || n.entry.Indexed() != listed || c.p.nodes[id] != n ||
		!c.p.lists.nodes.has(n) {
		return fmt.Errorf("node %s has a wrong score or is in the wrong order", id)
	}
	for s := range c.p.shapes.Slots {
		if n.entry.Mask.Has(s.Slot()) != n.Fits(s) {
			return fmt.Errorf("the mask of node %s is wrong for shape %v", id, s.Vector())
		}
	}
	return nil
}

// checkCluster checks the totals of all nodes.
func (c *recount) checkCluster() error {
	p := c.p
	var capacity, deficit, excess resources.Vector
	schedulable, unschedulable, foreign := 0, 0, 0
	for _, n := range p.nodes {
		capacity.Add(n.total)
		excess = append(excess[:0], n.allocated...)
		excess.Sub(n.total)
		for k := range excess {
			excess[k] = max(0, excess[k])
		}
		deficit.Add(excess)
		foreign += len(n.foreign)
		schedulable += boolToInt(n.schedulable && n.entry.Indexed())
		unschedulable += boolToInt(!n.schedulable && n.entry.Indexed())
	}
	if got, want := p.Amounts(p.Capacity()), p.Amounts(capacity); !got.Equal(want) {
		return fmt.Errorf("the cluster has capacity %v; the sum of its nodes is %v", got, want)
	}
	if got, want := p.Amounts(p.root.quota.Deficit()), p.Amounts(deficit); !got.Equal(want) {
		return fmt.Errorf("the cluster has a deficit of %v; the allocations of nodes exceed their capacity by %v", got, want)
	}
	if schedulable != p.journal.order.schedulable.Len() || unschedulable != p.journal.order.unschedulable.Len() ||
		foreign != len(p.foreign.byKey) || len(p.nodes) != len(p.lists.nodes.all) {
		return fmt.Errorf("the node order has %d nodes, %d nodes are schedulable; the order of unschedulable nodes has %d, "+
			"%d are indexed; there are %d foreign allocations, nodes have %d; there are %d nodes, %d are listed",
			p.journal.order.schedulable.Len(), schedulable, p.journal.order.unschedulable.Len(), unschedulable,
			len(p.foreign.byKey), foreign, len(p.nodes), len(p.lists.nodes.all))
	}
	return cmp.Or(p.journal.order.schedulable.Check("nodes"), p.journal.order.unschedulable.Check("unschedulable nodes"))
}

// totals are the sums over the asks and allocations of an application.
type totals struct {
	amounts     [3]resources.Amounts // allocated, placeholders, pending
	asks, bound int
	top         policies.CurrentPriority // the highest priority of an ask
}

// checkInGroup checks that a pending x is in its ask group once and in order. It costs a binary
// search.
func checkInGroup(x *Allocation) error {
	group := x.app.askGroups.find(askGroupIDOf(x))
	if group == nil || x.group != group {
		return fmt.Errorf("ask %s is not in its ask group", x.Key())
	}
	asks := group.SchedulableAsks()
	i, found := group.find(x)
	if found == group.isUnschedulable(x) || found && asks[i] != x {
		return fmt.Errorf("ask %s is not in its ask group", x.Key())
	}
	inOrder := func(i int) bool { return policies.CompareAsks(&asks[i].key, &asks[i+1].key) < 0 }
	if found && (i > 0 && !inOrder(i-1) || i+1 < len(asks) && !inOrder(i)) {
		return fmt.Errorf("application %s has asks out of order", x.app.ID())
	}
	return nil
}

// checkTotals checks an application except its single asks and allocations. Requires: checkInGroup
// of each ask; so equal counts mean that no ask is in two groups.
func (c *recount) checkTotals(a *Application, t *totals) error {
	want := t.amounts
	for i, amounts := range []resources.Vector{a.allocated, a.extra.placeholders, a.pending} {
		if got := c.p.Amounts(amounts); !got.Equal(want[i]) {
			return fmt.Errorf("application %s has allocated, placeholders or pending %v; the sum is %v", a.ID(), got, want[i])
		}
	}
	inGroups := 0
	var mask feasibility.Mask
	for i, group := range a.askGroups.list {
		if int(group.listIndex) != i || group.empty() || a.askGroups.find(group.id) != group || group.app != a ||
			group.entry.Indexed() != group.mayBePlaced() || group.mayBePlaced() && group.key != group.SchedulableAsks()[0].key ||
			group.hold != a.holdOf(group.id) {
			return fmt.Errorf("application %s has an ask group with a wrong index or key", a.ID())
		}
		inGroups += group.PendingCount()
		c.unschedulable += len(group.unschedulableAsks())
		if group.maxAppsCheck != c.p.quotas.MaxAppsCheckOf(&a.quota) || group.maxAppsCheck != quota.MaxAppsUnchecked &&
			group.slotShape().Users() < 1 {
			return fmt.Errorf("application %s has an ask group with the wrong slot", a.ID())
		}
		if group.mayBePlaced() && a.MayBeAllocated() {
			mask.Set(group.slotShape().Slot(), true)
		}
	}
	a.RestrictToHeadroom(mask)
	if err := a.quota.CheckMemberships(); err != nil {
		return fmt.Errorf("application %s: %w", a.ID(), err)
	}
	if err := a.askGroups.order.Check("ask groups of " + string(a.ID())); err != nil {
		return err
	}
	switch {
	case inGroups != t.asks || int(a.pendingCount) != inGroups || int(a.boundCount) != t.bound:
		return fmt.Errorf("application %s counts %d asks, %d in ask groups, and %d allocations; it has %d and %d",
			a.ID(), a.pendingCount, inGroups, a.boundCount, t.asks, t.bound)
	case a.AskMaxPriority() != t.top || a.key.Priority != t.top.Raised(a.Aged()):
		return fmt.Errorf("application %s has priority %v; the highest of its asks is %v", a.ID(), a.key.Priority, t.top)
	case !a.quota.CheckRunning(a.runs()):
		return fmt.Errorf("application %s is in state %s, which differs from the counts of running applications", a.ID(),
			a.state)
	case a.entry.Indexed() != (a.pendingCount > 0) || a.extra.startingEntry.Indexed() != a.isStarting():
		return fmt.Errorf("application %s is in the wrong orders", a.ID())
	case a.entry.Indexed() && !a.entry.Mask.Equal(mask):
		return fmt.Errorf("the mask of application %s differs from its pending shapes", a.ID())
	case c.p.apps[a.ID()] != a || !c.p.lists.apps.has(a):
		return fmt.Errorf("application %s is not listed", a.ID())
	case a.queue.byID[a.ID()] != a || c.p.queues[a.queue.path] != a.queue:
		return fmt.Errorf("application %s is not listed by its queue %s", a.ID(), a.queue.path)
	}
	return nil
}

// queueTotals are the sums over what is directly below a queue.
type queueTotals struct {
	amounts        [2]resources.Amounts // allocated, pending
	bound, running int
}

// checkQueue checks a queue, whose accounts are right.
func (c *recount) checkQueue(q *Queue, t *queueTotals) error {
	if c.p.queues[q.path] != q || !c.p.lists.queues.has(q) {
		return fmt.Errorf("queue %s is not registered", q.path)
	}
	if t.bound != q.BoundCount() || t.running != q.Running() {
		return fmt.Errorf("queue %s counts %d allocations and %d running applications; there are %d and %d", q.path,
			q.BoundCount(), q.Running(), t.bound, t.running)
	}
	for i, amounts := range []resources.Vector{q.Allocated(), q.Pending()} {
		if got := c.p.Amounts(amounts); !got.Equal(t.amounts[i]) {
			return fmt.Errorf("queue %s has allocated or pending %v; the sum is %v", q.path, got, t.amounts[i])
		}
	}
	var top policies.CurrentPriority
	children, apps, starting := 0, 0, 0
	for _, a := range q.byID {
		if p := a.AskMaxPriority().Raised(a.Aged()); p.Compare(top) > 0 {
			top = p
		}
		apps += boolToInt(a.entry.Indexed())
		starting += boolToInt(a.extra.startingEntry.Indexed())
	}
	for _, child := range q.byName {
		if p := child.CurrentPriority(); p.Compare(top) > 0 {
			top = p
		}
		children += boolToInt(child.entry.Indexed())
		if child.entry.Indexed() != child.HasPending() || child.parent != q {
			return fmt.Errorf("queue %s is in the wrong order", child.path)
		}
		if !c.p.journal.order.sharesStale && child.key.Share.Compare(child.Share()) != 0 ||
			child.key.Priority != child.CurrentPriority() {
			return fmt.Errorf("queue %s has an outdated sort key", child.path)
		}
	}
	switch {
	case q.priorities.Max() != top:
		return fmt.Errorf("queue %s counts %v as the highest priority below; it is %v", q.path, q.priorities.Max(), top)
	case children != q.children.Len() || apps != q.apps.Len() || starting != q.startingCount():
		return fmt.Errorf("queue %s has unknown members in its order", q.path)
	}
	if err := q.quota.CheckFit(c.p.shapes); err != nil {
		return err
	}
	var mask feasibility.Mask
	mask.CopyFrom(q.feasibleBelow())
	q.RestrictToHeadroom(mask)
	if q.entry.Indexed() && !q.entry.Mask.Equal(mask) {
		return fmt.Errorf("the mask of queue %s differs from the feasible shapes below it", q.path)
	}
	return cmp.Or(q.children.Check("children of "+string(q.path)), q.checkStarting(),
		q.apps.Check("applications of "+string(q.path)))
}

// checkLists checks that the lists of objects and the counts of the partition are complete.
func (c *recount) checkLists() error {
	p := c.p
	if len(p.apps) != len(p.lists.apps.all) || len(p.queues) != len(p.lists.queues.all) {
		return fmt.Errorf("there are %d applications and %d queues, %d and %d are listed",
			len(p.apps), len(p.queues), len(p.lists.apps.all), len(p.lists.queues.all))
	}
	bounds, scoped := 0, 0
	for _, q := range p.queues {
		bounds, scoped = bounds+boolToInt(q.quota.HasMaxApplications()), scoped+boolToInt(len(q.conf.ClassQuotas) > 0)
	}
	countedBounds, countedScoped := p.quotas.QueueCounts()
	if scoped != countedScoped || bounds != countedBounds {
		return fmt.Errorf("%d queues have max applications and %d class quotas; the partition counts %d and %d", bounds,
			scoped, countedBounds, countedScoped)
	}
	// it may stay set after the last queue with one was removed
	if !p.quotas.HasClassQuotas() && scoped+len(p.conf.ClassesNeedingQuota) > 0 {
		return fmt.Errorf("%d queues have class quotas and %d classes need one; the partition says that there are none",
			scoped, len(p.conf.ClassesNeedingQuota))
	}
	asks, bound, refs := 0, 0, 0
	for _, a := range p.apps {
		asks, bound = asks+int(a.pendingCount), bound+int(a.boundCount)
	}
	for s := range p.shapes.Shapes {
		refs += s.Users()
		if s.Users() <= 0 {
			return fmt.Errorf("shape %v counts %d asks and allocations", s.Amounts(), s.Users())
		}
	}
	if bound != p.boundCount || asks+bound != len(p.allocations) || refs != len(p.allocations) {
		return fmt.Errorf("there are %d asks and allocations, %d are bound, shapes count %d; applications have %d, %d of "+
			"them bound",
			len(p.allocations), p.boundCount, refs, asks+bound, bound)
	}
	return nil
}

// checkShared reports an error if what nodes or applications share was changed.
func checkShared() error {
	c, e := &noNodeExtra, &noAppExtra
	if len(c.held)+len(c.nominees)+len(c.preempting)+len(c.replacing)+len(c.reserved) > 0 {
		return errors.New("the extra of nodes without any was changed")
	}
	if e.startingEntry.Indexed() || len(e.startingEntry.Mask)+len(e.placeholders) > 0 || e.deadlineEntry != nil ||
		e.formerPeak != nil {
		return errors.New("the extra of applications without any was changed")
	}
	return nil
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// knows reports whether x is found by its key.
func (c *recount) knows(x *Allocation) bool { return c.p.allocations[x.Key()] == x }
