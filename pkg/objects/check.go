package objects

import (
	"cmp"
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Check recounts every total from the list of allocations, every priority from the asks and every
// order from its keys, and returns the first difference. A Partition is consistent if there is
// none. Tests and the health check call it; scheduling does not.
func (p *Partition) Check() error {
	c := recount{
		p: p, node: map[NodeID]resources.Amounts{}, queue: map[QueuePath][2]resources.Amounts{},
		app: map[AppID][3]resources.Amounts{}, asks: map[AppID][]*Allocation{}, bound: map[AppID]int{},
	}
	if err := cmp.Or(checkShared(), c.countAllocations()); err != nil {
		return err
	}
	c.countApps()
	if err := c.checkNodes(); err != nil {
		return err
	}
	for _, a := range p.apps {
		if err := cmp.Or(c.checkApplication(a), c.checkState(a)); err != nil {
			return err
		}
	}
	if got := p.UnschedulableCount(); got != c.unschedulable && !p.journal.retries.requeueRequested {
		return fmt.Errorf("%d asks are counted as unschedulable, %d are", got, c.unschedulable)
	}
	return cmp.Or(c.checkPreemption(), c.checkGangs(), c.checkBudgets(), c.checkAffinity(), c.checkTopology(),
		c.checkClassQuotas(), c.checkSubtree(p.root), c.checkLists(), c.checkEnded(), c.checkViolations(), c.checkNames(),
		checkOrphans(p))
}

// recount is the totals as they should be.
type recount struct {
	p     *Partition
	node  map[NodeID]resources.Amounts
	queue map[QueuePath][2]resources.Amounts // allocated, pending
	app   map[AppID][3]resources.Amounts     // allocated, placeholders, pending
	asks  map[AppID][]*Allocation
	bound map[AppID]int

	unschedulable int // asks

	running      map[*Queue]int // running applications in or below a queue
	memberTotals map[*quota.Account]memberTotals
}

// countAllocations counts all asks and allocations.
func (c *recount) countAllocations() error {
	shaped, bound := map[*feasibility.Shape]int{}, 0
	for x := range c.p.allocations.all {
		key := x.Key()
		a := c.p.apps[x.ask.App]
		if a == nil || a != x.app || !a.allocations.has(x, indexInApp) || !c.p.allocations.has(x) {
			return fmt.Errorf("%s is not an ask or allocation of its application %s", key, x.ask.App)
		}
		shaped[x.shape]++
		amountIndex, queueIndex := 2, 1
		if !x.Pending() {
			bound++
			c.bound[a.ID()]++
			if c.p.nodes[x.node.ID()] != x.node || !x.node.allocations.has(x, indexOnNode) {
				return fmt.Errorf("allocation %s is not listed by its node %s", key, x.node.ID())
			}
			c.node[x.node.ID()] = c.node[x.node.ID()].Add(x.ask.Amounts)
			amountIndex, queueIndex = 0, 0
			if x.ask.Placeholder {
				amountIndex = 1
			}
		} else {
			c.asks[a.ID()] = append(c.asks[a.ID()], x)
		}
		sums := c.app[a.ID()]
		sums[amountIndex] = sums[amountIndex].Add(x.ask.Amounts)
		c.app[a.ID()] = sums
		for q := a.queue; q != nil; q = q.parent {
			sums := c.queue[q.path]
			sums[queueIndex] = sums[queueIndex].Add(x.ask.Amounts)
			c.queue[q.path] = sums
		}
	}
	if bound != c.p.boundCount || len(shaped) != c.p.shapes.Len() {
		return fmt.Errorf("the partition counts %d allocations and %d shapes; there are %d and %d",
			c.p.boundCount, c.p.shapes.Len(), bound, len(shaped))
	}
	for s, n := range shaped {
		if s.Users() != n {
			return fmt.Errorf("shape %v counts %d asks and allocations; there are %d", s.Amounts(), s.Users(), n)
		}
	}
	return nil
}

func (c *recount) checkNodes() error {
	joining := c.joiningNodes()
	for _, n := range c.p.nodes {
		if err := c.checkNode(n, joining[n]); err != nil {
			return err
		}
	}
	return c.checkCluster()
}

// joiningNodes are the nodes that are not in the node order yet.
func (c *recount) joiningNodes() map[*Node]bool {
	p := c.p
	joining := map[*Node]bool{}
	for _, n := range p.journal.order.joining {
		joining[n] = n.schedulable && !n.entry.Indexed()
	}
	return joining
}

// checkNode checks a node. Requires: c.node has the sum of its allocations.
func (c *recount) checkNode(n *Node, joining bool) error {
	id := n.ID()
	var occupied resources.Amounts
	for key, f := range n.foreign {
		if c.p.foreign.byKey[key] != f {
			return fmt.Errorf("foreign allocation %s of node %s is not registered", key, id)
		}
		occupied = occupied.Add(f.Amounts)
	}
	want := c.p.Amounts(n.total).Sub(c.node[id]).Sub(occupied)
	if got := c.p.Amounts(n.allocated); !got.Equal(c.node[id]) {
		return fmt.Errorf("node %s has allocated %v; the sum of its allocations is %v", id, got, c.node[id])
	}
	if got := c.p.Amounts(n.available); !got.Equal(want) {
		return fmt.Errorf("node %s has available %v; capacity less allocations and foreign usage is %v", id, got, want)
	}
	listed := n.schedulable && !joining || !n.schedulable && !n.entry.Mask.Empty()
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

func (c *recount) checkApplication(a *Application) error {
	t := totals{amounts: c.app[a.ID()], asks: len(c.asks[a.ID()]), bound: c.bound[a.ID()]}
	for _, x := range c.asks[a.ID()] {
		if p := policies.Pending(x.ask.Priority); p.Compare(t.top) > 0 {
			t.top = p
		}
		if err := checkInGroup(x); err != nil {
			return err
		}
	}
	return c.checkTotals(a, &t)
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
	case a.AskMaxPriority() != t.top || a.key.Priority != t.top:
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

// checkSubtree checks q and all queues below it.
func (c *recount) checkSubtree(q *Queue) error {
	if err := c.checkQueue(q); err != nil {
		return err
	}
	for _, child := range q.byName {
		if err := c.checkSubtree(child); err != nil {
			return err
		}
	}
	return nil
}

// checkQueue checks a queue. Requires: c.queue has the sum of its asks and allocations.
func (c *recount) checkQueue(q *Queue) error {
	if c.p.queues[q.path] != q || !c.p.lists.queues.has(q) {
		return fmt.Errorf("queue %s is not registered", q.path)
	}
	bound := 0
	for _, child := range q.byName {
		bound += child.BoundCount()
	}
	for id := range q.byID {
		bound += c.bound[id]
	}
	if bound != q.BoundCount() {
		return fmt.Errorf("queue %s counts %d allocations; there are %d", q.path, q.BoundCount(), bound)
	}
	want := c.queue[q.path]
	for i, amounts := range []resources.Vector{q.Allocated(), q.Pending()} {
		if got := c.p.Amounts(amounts); !got.Equal(want[i]) {
			return fmt.Errorf("queue %s has allocated or pending %v; the sum is %v", q.path, got, want[i])
		}
	}
	if err := c.checkAccounts(q); err != nil {
		return err
	}
	var top policies.CurrentPriority
	children, apps, starting := 0, 0, 0
	for _, a := range q.byID {
		if p := a.AskMaxPriority(); p.Compare(top) > 0 {
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
	if bound != p.boundCount || asks+bound != p.allocations.len() || refs != p.allocations.len() {
		return fmt.Errorf("there are %d asks and allocations, %d are bound, shapes count %d; applications have %d, %d of "+
			"them bound",
			p.allocations.len(), p.boundCount, refs, asks+bound, bound)
	}
	return nil
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
