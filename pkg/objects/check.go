package objects

import (
	"cmp"
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Check recounts every book from the list of allocations, every priority from the list
// of asks and every order from its keys, and reports the first that disagrees. It is
// what "consistent" means for a Partition; tests and the health endpoint call it,
// scheduling never does.
func (p *Partition) Check() error {
	c := recount{
		p: p, node: map[NodeID]resources.Amounts{}, queue: map[QueuePath][2]resources.Amounts{},
		app: map[AppID][3]resources.Amounts{}, asks: map[AppID][]*Allocation{}, bound: map[AppID]int{},
	}
	if err := c.countAllocations(); err != nil {
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
	return cmp.Or(c.checkPreemption(), c.checkBudgets(), c.checkClassQuotas(), c.checkSubtree(p.root), p.checkLists(), p.checkEnded(), p.checkViolations(), p.checkNames())
}

// recount is what the books should say.
type recount struct {
	p     *Partition
	node  map[NodeID]resources.Amounts
	queue map[QueuePath][2]resources.Amounts // allocated, pending
	app   map[AppID][3]resources.Amounts     // allocated, placeholders, pending
	asks  map[AppID][]*Allocation
	bound map[AppID]int

	running      map[*Queue]int // applications that run in a queue or below
	memberTotals map[*account]memberTotals
}

// countAllocations goes through everything known once.
func (c *recount) countAllocations() error {
	shaped, bound := map[*Shape]int{}, 0
	for key, x := range c.p.allocations {
		a := c.p.apps[x.ask.App]
		if a == nil || a != x.app || !a.allocations.has(x, indexInApp) || x.Key() != key {
			return fmt.Errorf("%s is not known to its application %s", key, x.ask.App)
		}
		shaped[x.shape]++
		amountIndex, queueIndex := 2, 1
		if !x.Pending() {
			bound++
			c.bound[a.id]++
			if c.p.nodes[x.node.id] != x.node || !x.node.allocations.has(x, indexOnNode) {
				return fmt.Errorf("allocation %s is not known to its node %s", key, x.node.id)
			}
			c.node[x.node.id] = c.node[x.node.id].Add(x.ask.Amounts)
			amountIndex, queueIndex = 0, 0
			if x.ask.Placeholder {
				amountIndex = 1
			}
		} else {
			c.asks[a.id] = append(c.asks[a.id], x)
		}
		sums := c.app[a.id]
		sums[amountIndex] = sums[amountIndex].Add(x.ask.Amounts)
		c.app[a.id] = sums
		for q := a.queue; q != nil; q = q.parent {
			sums := c.queue[q.path]
			sums[queueIndex] = sums[queueIndex].Add(x.ask.Amounts)
			c.queue[q.path] = sums
		}
	}
	if bound != c.p.boundCount || len(shaped) != len(c.p.shapes) {
		return fmt.Errorf("%d allocations and %d shapes are counted, there are %d and %d",
			c.p.boundCount, len(c.p.shapes), bound, len(shaped))
	}
	for s, n := range shaped {
		if s.refs != n {
			return fmt.Errorf("shape %v says %d have it, %d do", s.amounts, s.refs, n)
		}
	}
	return nil
}

func (c *recount) checkNodes() error {
	joining := c.p.joiningNodes()
	for _, n := range c.p.nodes {
		if err := c.checkNode(n, joining[n]); err != nil {
			return err
		}
	}
	return c.p.checkCluster()
}

// joiningNodes are those that stand in no order yet.
func (p *Partition) joiningNodes() map[*Node]bool {
	joining := map[*Node]bool{}
	for _, n := range p.joining {
		joining[n] = n.schedulable && !n.entry.indexed()
	}
	return joining
}

// checkNode checks a node. Requires: c.node has what its allocations say.
func (c *recount) checkNode(n *Node, joining bool) error {
	id := n.id
	var occupied resources.Amounts
	for key, f := range n.foreign {
		if c.p.foreign[key] != f {
			return fmt.Errorf("foreign allocation %s is known to node %s alone", key, id)
		}
		occupied = occupied.Add(f.Amounts)
	}
	want := c.p.Amounts(n.total).Sub(c.node[id]).Sub(occupied)
	if got := c.p.Amounts(n.allocated); !got.Equal(c.node[id]) {
		return fmt.Errorf("node %s says %v, its allocations say %v", id, got, c.node[id])
	}
	if got := c.p.Amounts(n.available); !got.Equal(want) {
		return fmt.Errorf("node %s says %v is available, its allocations and foreign usage say %v", id, got, want)
	}
	listed := n.schedulable && !joining || !n.schedulable && !n.entry.mask.empty()
	if n.key.Score != c.p.nodeScorer.score(n) || n.entry.indexed() != listed || c.p.nodes[id] != n || !c.p.nodeList.has(n) {
		return fmt.Errorf("node %s is out of order", id)
	}
	for _, s := range c.p.slots.shapes {
		if s != nil && n.entry.mask.has(s.slot) != n.Fits(s) {
			return fmt.Errorf("node %s is wrong about shape %v", id, s.vector)
		}
	}
	return nil
}

// checkCluster checks what all nodes have together.
func (p *Partition) checkCluster() error {
	var capacity resources.Vector
	schedulable, unschedulable, foreign := 0, 0, 0
	for _, n := range p.nodes {
		capacity.Add(n.total)
		foreign += len(n.foreign)
		schedulable += boolToInt(n.schedulable && n.entry.indexed())
		unschedulable += boolToInt(!n.schedulable && n.entry.indexed())
	}
	if got, want := p.Amounts(p.capacity), p.Amounts(capacity); !got.Equal(want) {
		return fmt.Errorf("the cluster says %v, its nodes say %v", got, want)
	}
	if schedulable != p.schedulableNodes.n || unschedulable != p.unschedulableNodes.n || foreign != len(p.foreign) || len(p.nodes) != len(p.nodeList.all) {
		return fmt.Errorf("%d nodes are in order, %d are schedulable; of the others %d are listed, and %d take anything; %d foreign allocations are known, %d are on nodes; there are %d nodes, %d are listed",
			p.schedulableNodes.n, schedulable, p.unschedulableNodes.n, unschedulable, len(p.foreign), foreign, len(p.nodes), len(p.nodeList.all))
	}
	return cmp.Or(p.schedulableNodes.check("nodes"), p.unschedulableNodes.check("unschedulable nodes"))
}

// totals are what the work of an application says of it.
type totals struct {
	amounts     [3]resources.Amounts // allocated, placeholders, pending
	asks, bound int
	top         policies.CurrentPriority // the highest priority of an ask
}

func (c *recount) checkApplication(a *Application) error {
	t := totals{amounts: c.app[a.id], asks: len(c.asks[a.id]), bound: c.bound[a.id]}
	for _, x := range c.asks[a.id] {
		if p := policies.Pending(x.ask.Priority); p.Compare(t.top) > 0 {
			t.top = p
		}
		if err := checkInGroup(x); err != nil {
			return err
		}
	}
	return c.checkTotals(a, &t)
}

// checkInGroup checks that x, which is pending, is in its class once and where it belongs. It costs
// a binary search.
func checkInGroup(x *Allocation) error {
	group := x.app.askGroups.find(askGroupIDOf(x))
	if group == nil || x.group != group {
		return fmt.Errorf("ask %s is not in its ask group", x.Key())
	}
	asks := group.SchedulableAsks()
	i, found := group.find(x)
	if found == group.unschedulable.has(x, indexInUnschedulable) || found && asks[i] != x {
		return fmt.Errorf("ask %s is not in its ask group", x.Key())
	}
	inOrder := func(i int) bool { return policies.CompareAsks(&asks[i].key, &asks[i+1].key) < 0 }
	if found && (i > 0 && !inOrder(i-1) || i+1 < len(asks) && !inOrder(i)) {
		return fmt.Errorf("application %s has asks out of order", x.app.id)
	}
	return nil
}

// checkTotals checks everything about an application that is not about one of its asks or allocations.
// Each of its asks must be in its class: so as many are in classes as it has, and none twice.
func (c *recount) checkTotals(a *Application, t *totals) error {
	want := t.amounts
	for i, amounts := range []resources.Vector{a.allocated, a.placeholders, a.pending} {
		if got := c.p.Amounts(amounts); !got.Equal(want[i]) {
			return fmt.Errorf("application %s says %v, its allocations say %v", a.id, got, want[i])
		}
	}
	inGroups := 0
	var offer Mask
	for i, group := range a.askGroups.list {
		if int(group.listIndex) != i || group.empty() || a.askGroups.find(group.id) != group || group.app != a ||
			group.entry.indexed() != group.hasSchedulable() || group.hasSchedulable() && group.key != group.SchedulableAsks()[0].key {
			return fmt.Errorf("application %s has an ask group out of place", a.id)
		}
		inGroups += len(group.SchedulableAsks()) + len(group.unschedulable)
		if group.maxAppsCheck != c.p.maxAppsCheckOf(a) || group.maxAppsCheck != maxAppsUnchecked && group.slotShape().refs < 1 {
			return fmt.Errorf("application %s has an ask group with the wrong slot", a.id)
		}
		if group.hasSchedulable() && a.StateAwareAllows() {
			offer.set(group.slotShape().slot, true)
		}
	}
	a.RestrictToHeadroom(offer)
	for _, s := range a.memberships {
		if s.index >= len(s.account.members) || s.account.members[s.index] != a || s.account.queue.accounts[s.account.userOrGroup] != s.account {
			return fmt.Errorf("application %s is not known to an account", a.id)
		}
	}
	if err := c.checkMemberships(a); err != nil {
		return err
	}
	if err := a.askGroups.order.check("classes of " + string(a.id)); err != nil {
		return err
	}
	switch {
	case inGroups != t.asks || a.pendingCount != inGroups || a.boundCount != t.bound:
		return fmt.Errorf("application %s counts %d asks, %d in classes, and %d allocations; it has %d and %d",
			a.id, a.pendingCount, inGroups, a.boundCount, t.asks, t.bound)
	case a.AskMaxPriority() != t.top || a.key.Priority != t.top:
		return fmt.Errorf("application %s says its priority is %v, its asks say %v", a.id, a.key.Priority, t.top)
	case a.countedRunning != (a.state == Running) || a.countedInLimits != (a.countedRunning && !a.restarting):
		return fmt.Errorf("application %s is counted as running or not, and is %s", a.id, a.state)
	case a.entry.indexed() != (a.pendingCount > 0) || a.startingEntry.indexed() != a.isStarting():
		return fmt.Errorf("application %s is in the wrong orderings", a.id)
	case a.entry.indexed() && !a.entry.mask.equal(offer):
		return fmt.Errorf("application %s offers other shapes than it asks for", a.id)
	case c.p.apps[a.id] != a || !c.p.appList.has(a):
		return fmt.Errorf("application %s is not listed", a.id)
	case a.queue.byID[a.id] != a || c.p.queues[a.queue.path] != a.queue:
		return fmt.Errorf("application %s is not known to its queue %s", a.id, a.queue.path)
	}
	return nil
}

// checkSubtree checks q and everything below it.
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

// checkQueue checks a queue. Requires: c.queue has what the work in it says.
func (c *recount) checkQueue(q *Queue) error {
	if c.p.queues[q.path] != q || !c.p.queueList.has(q) {
		return fmt.Errorf("queue %s cannot be found", q.path)
	}
	bound := 0
	for _, child := range q.byName {
		bound += child.boundCount
	}
	for id := range q.byID {
		bound += c.bound[id]
	}
	if bound != q.boundCount {
		return fmt.Errorf("queue %s says %d allocations, there are %d", q.path, q.boundCount, bound)
	}
	want := c.queue[q.path]
	for i, amounts := range []resources.Vector{q.allocated, q.pending} {
		if got := c.p.Amounts(amounts); !got.Equal(want[i]) {
			return fmt.Errorf("queue %s says %v, its allocations say %v", q.path, got, want[i])
		}
	}
	if err := c.checkAccounts(q); err != nil {
		return err
	}
	var top policies.CurrentPriority
	asking, running, fresh := 0, 0, 0
	for _, a := range q.byID {
		if p := a.AskMaxPriority(); p.Compare(top) > 0 {
			top = p
		}
		running += boolToInt(a.entry.indexed())
		fresh += boolToInt(a.startingEntry.indexed())
	}
	for _, child := range q.byName {
		if p := child.CurrentPriority(); p.Compare(top) > 0 {
			top = p
		}
		asking += boolToInt(child.entry.indexed())
		if child.entry.indexed() != child.HasPending() || child.parent != q {
			return fmt.Errorf("queue %s is in the wrong ordering", child.path)
		}
		if !c.p.sharesStale && child.key.Share.Compare(child.Share()) != 0 || child.key.Priority != child.CurrentPriority() {
			return fmt.Errorf("queue %s has an old key", child.path)
		}
	}
	switch {
	case q.tally.Max() != top:
		return fmt.Errorf("queue %s says the priority below is %v, its allocations say %v", q.path, q.tally.Max(), top)
	case asking != q.children.n || running != q.apps.n || fresh != q.starting.n:
		return fmt.Errorf("queue %s has unknown members in its ordering", q.path)
	}
	for _, s := range c.p.slots.shapes {
		if s != nil && !q.policy.unbounded && q.fit.has(s.slot) != c.p.hasHeadroom(q, s) {
			return fmt.Errorf("queue %s is wrong about its headroom for shape %v", q.path, s.vector)
		}
	}
	var offer Mask
	offer.copyFrom(q.feasibleBelow())
	if q.RestrictToHeadroom(offer); q.entry.indexed() && !q.entry.mask.equal(offer) {
		return fmt.Errorf("queue %s offers other shapes than can be placed below it", q.path)
	}
	return cmp.Or(q.children.check("children of "+string(q.path)), q.starting.check("newcomers of "+string(q.path)),
		q.apps.check("applications of "+string(q.path)))
}

// checkLists checks that the lists of objects have no strangers.
func (p *Partition) checkLists() error {
	if len(p.apps) != len(p.appList.all) || len(p.queues) != len(p.queueList.all) {
		return fmt.Errorf("there are %d applications and %d queues, %d and %d are listed",
			len(p.apps), len(p.queues), len(p.appList.all), len(p.queueList.all))
	}
	bounds, scoped := 0, 0
	for _, q := range p.queues {
		bounds, scoped = bounds+boolToInt(q.hasMaxApplications()), scoped+boolToInt(len(q.conf.ClassQuotas) > 0)
	}
	if bounds != p.maxAppsQueues || scoped != p.classQuotaQueues {
		return fmt.Errorf("%d queues bound applications and %d have class quotas, %d and %d are counted", bounds, scoped, p.maxAppsQueues, p.classQuotaQueues)
	}
	asks, bound, users := 0, 0, 0
	for _, a := range p.apps {
		asks, bound = asks+a.pendingCount, bound+a.boundCount
	}
	for _, s := range p.shapes {
		if users += s.refs; s.refs <= 0 {
			return fmt.Errorf("shape %v says %d have it", s.amounts, s.refs)
		}
	}
	if bound != p.boundCount || asks+bound != len(p.allocations) || users != len(p.allocations) {
		return fmt.Errorf("%d asks and allocations are known, %d are bound, shapes have %d; applications have %d and %d",
			len(p.allocations), p.boundCount, users, asks+bound, bound)
	}
	return nil
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
