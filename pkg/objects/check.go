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
	if err := c.list(); err != nil {
		return err
	}
	c.countApps()
	if err := c.nodes(); err != nil {
		return err
	}
	for _, a := range p.apps {
		if err := cmp.Or(c.application(a), c.life(a)); err != nil {
			return err
		}
	}
	return cmp.Or(c.nominations(), c.budgets(), c.classQuotas(), c.below(p.root), p.checkLists(), p.checkEnds(), p.checkAbove(), p.checkNames())
}

// recount is what the books should say.
type recount struct {
	p     *Partition
	node  map[NodeID]resources.Amounts
	queue map[QueuePath][2]resources.Amounts // allocated, pending
	app   map[AppID][3]resources.Amounts     // allocated, placeholders, pending
	asks  map[AppID][]*Allocation
	bound map[AppID]int

	running map[*Queue]int // applications that run in a queue or below
	held    map[*account]heldSums
}

// list goes through everything known once.
func (c *recount) list() error {
	shaped, bound := map[*Shape]int{}, 0
	for key, x := range c.p.work {
		a := c.p.apps[x.ask.App]
		if a == nil || a != x.app || !a.work.has(x, placeInApp) || x.Key() != key {
			return fmt.Errorf("%s is not known to its application %s", key, x.ask.App)
		}
		shaped[x.shape]++
		book, side := 2, 1
		if !x.Pending() {
			bound++
			c.bound[a.id]++
			if c.p.nodes[x.node.id] != x.node || !x.node.work.has(x, placeOnNode) {
				return fmt.Errorf("allocation %s is not known to its node %s", key, x.node.id)
			}
			c.node[x.node.id] = c.node[x.node.id].Add(x.ask.Amounts)
			book, side = 0, 0
			if x.ask.Placeholder {
				book = 1
			}
		} else {
			c.asks[a.id] = append(c.asks[a.id], x)
		}
		sums := c.app[a.id]
		sums[book] = sums[book].Add(x.ask.Amounts)
		c.app[a.id] = sums
		for q := a.queue; q != nil; q = q.parent {
			sums := c.queue[q.path]
			sums[side] = sums[side].Add(x.ask.Amounts)
			c.queue[q.path] = sums
		}
	}
	if bound != c.p.bound || len(shaped) != len(c.p.shapes) {
		return fmt.Errorf("%d allocations and %d shapes are counted, there are %d and %d",
			c.p.bound, len(c.p.shapes), bound, len(shaped))
	}
	for s, n := range shaped {
		if s.users != n {
			return fmt.Errorf("shape %v says %d have it, %d do", s.amounts, s.users, n)
		}
	}
	return nil
}

func (c *recount) nodes() error {
	joining := c.p.joiningNodes()
	for _, n := range c.p.nodes {
		if err := c.oneNode(n, joining[n]); err != nil {
			return err
		}
	}
	return c.p.checkCluster()
}

// joiningNodes are those that stand in no order yet.
func (p *Partition) joiningNodes() map[*Node]bool {
	joining := map[*Node]bool{}
	for _, n := range p.joining {
		joining[n] = n.schedulable && !n.turn.in()
	}
	return joining
}

// oneNode checks a node. Requires: c.node has what its allocations say.
func (c *recount) oneNode(n *Node, joining bool) error {
	id := n.id
	var occupied resources.Amounts
	for key, f := range n.foreign {
		if c.p.others[key] != f {
			return fmt.Errorf("foreign allocation %s is known to node %s alone", key, id)
		}
		occupied = occupied.Add(f.Amounts)
	}
	want := c.p.Amounts(n.total).Sub(c.node[id]).Sub(occupied)
	if got := c.p.Amounts(n.allocated); !got.Equal(c.node[id]) {
		return fmt.Errorf("node %s says %v, its allocations say %v", id, got, c.node[id])
	}
	if got := c.p.Amounts(n.available); !got.Equal(want) {
		return fmt.Errorf("node %s says %v is available, its books say %v", id, got, want)
	}
	listed := n.schedulable && !joining || !n.schedulable && !n.turn.can.empty()
	if n.key.Score != c.p.scale.score(n) || n.turn.in() != listed || c.p.nodes[id] != n || !c.p.nodeList.has(n) {
		return fmt.Errorf("node %s has an old place", id)
	}
	for _, s := range c.p.slots.shapes {
		if s != nil && n.turn.can.has(s.slot) != n.Takes(s) {
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
		schedulable += count(n.schedulable && n.turn.in())
		unschedulable += count(!n.schedulable && n.turn.in())
	}
	if got, want := p.Amounts(p.capacity), p.Amounts(capacity); !got.Equal(want) {
		return fmt.Errorf("the cluster says %v, its nodes say %v", got, want)
	}
	if schedulable != p.byScore.n || unschedulable != p.unschedulable.n || foreign != len(p.others) || len(p.nodes) != len(p.nodeList.all) {
		return fmt.Errorf("%d nodes are in order, %d are schedulable; of the others %d are listed, and %d take anything; %d foreign allocations are known, %d are on nodes; there are %d nodes, %d are listed",
			p.byScore.n, schedulable, p.unschedulable.n, unschedulable, len(p.others), foreign, len(p.nodes), len(p.nodeList.all))
	}
	return cmp.Or(p.byScore.check("nodes"), p.unschedulable.check("unschedulable nodes"))
}

// totals are what the work of an application says of it.
type totals struct {
	books       [3]resources.Amounts // allocated, placeholders, pending
	asks, bound int
	top         policies.Current // the highest priority of an ask
}

func (c *recount) application(a *Application) error {
	t := totals{books: c.app[a.id], asks: len(c.asks[a.id]), bound: c.bound[a.id]}
	for _, x := range c.asks[a.id] {
		if p := policies.Pending(x.ask.Priority); p.Compare(t.top) > 0 {
			t.top = p
		}
		if err := checkInClass(x); err != nil {
			return err
		}
	}
	return c.sums(a, &t)
}

// checkInClass checks that x, which is pending, is in its class once and where it belongs. It costs
// a binary search.
func checkInClass(x *Allocation) error {
	class := x.app.classes.of(classOf(x))
	if class == nil || x.class != class {
		return fmt.Errorf("ask %s is not in its class", x.Key())
	}
	asks := class.Asks()
	i, found := class.find(x)
	if found == class.aside.has(x, placeAside) || found && asks[i] != x {
		return fmt.Errorf("ask %s is not in its class", x.Key())
	}
	inOrder := func(i int) bool { return policies.CompareAsks(&asks[i].key, &asks[i+1].key) < 0 }
	if found && (i > 0 && !inOrder(i-1) || i+1 < len(asks) && !inOrder(i)) {
		return fmt.Errorf("application %s has asks out of order", x.app.id)
	}
	return nil
}

// sums checks everything about an application that is not about one of its asks or allocations.
// Each of its asks must be in its class: so as many are in classes as it has, and none twice.
func (c *recount) sums(a *Application, t *totals) error {
	want := t.books
	for i, book := range []resources.Vector{a.allocated, a.placeholders, a.pending} {
		if got := c.p.Amounts(book); !got.Equal(want[i]) {
			return fmt.Errorf("application %s says %v, its work says %v", a.id, got, want[i])
		}
	}
	classed := 0
	var offer Mask
	for i, class := range a.classes.list {
		if int(class.place) != i || class.empty() || a.classes.of(class.id) != class || class.app != a ||
			class.turn.in() != class.hopeful() || class.hopeful() && class.key != class.Asks()[0].key {
			return fmt.Errorf("application %s has a class out of place", a.id)
		}
		classed += len(class.Asks()) + len(class.aside)
		if class.gate != c.p.gateOf(a) || class.gate != open && class.shown().users < 1 {
			return fmt.Errorf("application %s has a class with the wrong slot", a.id)
		}
		if class.hopeful() && a.MayStart() {
			offer.put(class.shown().slot, true)
		}
	}
	a.Narrow(offer)
	for _, s := range a.seats {
		if s.place >= len(s.account.members) || s.account.members[s.place] != a || s.account.queue.accounts[s.account.holder] != s.account {
			return fmt.Errorf("application %s is not known to an account", a.id)
		}
	}
	if err := c.seats(a); err != nil {
		return err
	}
	if err := a.classes.turns.check("classes of " + string(a.id)); err != nil {
		return err
	}
	switch {
	case classed != t.asks || a.asks != classed || a.bound != t.bound:
		return fmt.Errorf("application %s counts %d asks, %d in classes, and %d allocations; it has %d and %d",
			a.id, a.asks, classed, a.bound, t.asks, t.bound)
	case a.AskMaxPriority() != t.top || a.key.Priority != t.top:
		return fmt.Errorf("application %s says its priority is %v, its asks say %v", a.id, a.key.Priority, t.top)
	case a.counted != (a.state == Running) || a.charged != (a.counted && !a.again):
		return fmt.Errorf("application %s is counted as running or not, and is %s", a.id, a.state)
	case a.turn.in() != (a.asks > 0) || a.fresh.in() != a.newcomer():
		return fmt.Errorf("application %s stands in the wrong orders", a.id)
	case a.turn.in() && !a.turn.can.same(offer):
		return fmt.Errorf("application %s offers other shapes than it asks for", a.id)
	case c.p.apps[a.id] != a || !c.p.appList.has(a):
		return fmt.Errorf("application %s is not listed", a.id)
	case a.queue.byID[a.id] != a || c.p.queues[a.queue.path] != a.queue:
		return fmt.Errorf("application %s is not known to its queue %s", a.id, a.queue.path)
	}
	return nil
}

// below checks q and everything below it.
func (c *recount) below(q *Queue) error {
	if err := c.oneQueue(q); err != nil {
		return err
	}
	for _, child := range q.byName {
		if err := c.below(child); err != nil {
			return err
		}
	}
	return nil
}

// oneQueue checks a queue. Requires: c.queue has what the work in it says.
func (c *recount) oneQueue(q *Queue) error {
	if c.p.queues[q.path] != q || !c.p.queueList.has(q) {
		return fmt.Errorf("queue %s cannot be found", q.path)
	}
	bound := 0
	for _, child := range q.byName {
		bound += child.bound
	}
	for id := range q.byID {
		bound += c.bound[id]
	}
	if bound != q.bound {
		return fmt.Errorf("queue %s says %d allocations, there are %d", q.path, q.bound, bound)
	}
	want := c.queue[q.path]
	for i, book := range []resources.Vector{q.allocated, q.pending} {
		if got := c.p.Amounts(book); !got.Equal(want[i]) {
			return fmt.Errorf("queue %s says %v, its work says %v", q.path, got, want[i])
		}
	}
	if err := c.accounts(q); err != nil {
		return err
	}
	var top policies.Current
	asking, running, fresh := 0, 0, 0
	for _, a := range q.byID {
		if p := a.AskMaxPriority(); p.Compare(top) > 0 {
			top = p
		}
		running += count(a.turn.in())
		fresh += count(a.fresh.in())
	}
	for _, child := range q.byName {
		if p := child.CurrentPriority(); p.Compare(top) > 0 {
			top = p
		}
		asking += count(child.turn.in())
		if child.turn.in() != child.HasPending() || child.parent != q {
			return fmt.Errorf("queue %s stands in the wrong order", child.path)
		}
		if !c.p.unsound && child.key.Share.Compare(child.Share()) != 0 || child.key.Priority != child.CurrentPriority() {
			return fmt.Errorf("queue %s has an old key", child.path)
		}
	}
	switch {
	case q.tally.Max() != top:
		return fmt.Errorf("queue %s says the priority below is %v, its work says %v", q.path, q.tally.Max(), top)
	case asking != q.children.n || running != q.apps.n || fresh != q.newcomers.n:
		return fmt.Errorf("queue %s has strangers in its orders", q.path)
	}
	for _, s := range c.p.slots.shapes {
		if s != nil && !q.rule.roomy && q.fit.has(s.slot) != c.p.hasHeadroom(q, s) {
			return fmt.Errorf("queue %s is wrong about its headroom for shape %v", q.path, s.vector)
		}
	}
	var offer Mask
	offer.copyFrom(q.below())
	if q.Narrow(offer); q.turn.in() && !q.turn.can.same(offer) {
		return fmt.Errorf("queue %s offers other shapes than can be placed below it", q.path)
	}
	return cmp.Or(q.children.check("children of "+string(q.path)), q.newcomers.check("newcomers of "+string(q.path)),
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
		bounds, scoped = bounds+count(q.boundsApplications()), scoped+count(len(q.conf.ClassQuotas) > 0)
	}
	if bounds != p.bounds || scoped != p.scoped {
		return fmt.Errorf("%d queues bound applications and %d have class quotas, %d and %d are counted", bounds, scoped, p.bounds, p.scoped)
	}
	asks, bound, users := 0, 0, 0
	for _, a := range p.apps {
		asks, bound = asks+a.asks, bound+a.bound
	}
	for _, s := range p.shapes {
		if users += s.users; s.users <= 0 {
			return fmt.Errorf("shape %v says %d have it", s.amounts, s.users)
		}
	}
	if bound != p.bound || asks+bound != len(p.work) || users != len(p.work) {
		return fmt.Errorf("%d asks and allocations are known, %d are bound, shapes have %d; applications have %d and %d",
			len(p.work), p.bound, users, asks+bound, bound)
	}
	return nil
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}
