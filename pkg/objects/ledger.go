package objects

import (
	"fmt"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// The ledger is the only code that changes quantities. An allocation counts for its node, its
// application, its leaf and every ancestor, or for none of them (QUE-42).

// Place binds a pending ask to the node of a decision. The node, the queues on the path, the limits
// and max applications are checked once more (QUO-7, LIM-12); what other allocations leave to the ask is for the caller
// to check. Nothing changes if there is an error.
func (p *Partition) Place(x *Allocation, n *Node, now time.Time) error {
	if err := p.checkPlacement(x, n); err != nil {
		return fmt.Errorf("place %s on %s: %w", x.Key(), n.ID(), err)
	}
	p.bindAndReindex(x, n, now)
	return nil
}

// PlaceReported binds a pending ask to the node that the RM reports. No quota or limit is checked
// (QUO-8, LIM-13).
func (p *Partition) PlaceReported(key AllocationKey, on NodeID, now time.Time) (*Allocation, error) {
	x, ok := p.allocations[key]
	if !ok || !x.Pending() {
		return nil, fmt.Errorf("%w pending ask %s", ErrUnknown, key)
	}
	n, ok := p.nodes[on]
	if !ok {
		return nil, fmt.Errorf("%w node %s", ErrUnknown, on)
	}
	p.notePlacedResources(x.shape)
	p.bindAndReindex(x, n, now)
	return x, nil
}

func (p *Partition) bindAndReindex(x *Allocation, n *Node, now time.Time) {
	p.bindToNode(x, n, now)
	p.reindex(x.app)
}

// checkPlacement checks node, quotas, limits and max applications before x is bound to n. It
// changes nothing.
func (p *Partition) checkPlacement(x *Allocation, n *Node) error {
	if !n.Fits(x.shape) && !(p.Nomination(x) == n && p.FitsNominated(x)) &&
		!(p.Reservations().Of(x) == n && p.Reservations().Fits(x)) || !n.acceptsIf(true, x.shape) {
		return ErrDoesNotFit
	}
	if c, blocked := x.app.Constraints().FirstBlocking(x.shape); blocked {
		if c.Kind().AboutApplications() {
			return fmt.Errorf("applications of %s: %w", c, ErrOverLimit)
		}
		return fmt.Errorf("%s: %w", c, ErrOverLimit)
	}
	return nil
}

// Release removes an allocation. ok is false if key has no allocation; a pending ask is none. An ask that replaces it
// is bound in its place (GAN-7).
func (p *Partition) Release(key AllocationKey, now time.Time) (*Allocation, bool) {
	x, ok := p.allocations[key]
	if !ok || x.Pending() {
		return nil, false
	}
	x.recordUsage(p.Preempting(x), now)
	replacement, n := p.Gangs().takeReplacement(x)
	p.removeAllocation(x)
	if replacement != nil {
		p.Gangs().bindReplacement(replacement, n, now)
	}
	p.updateRunning(x.app)
	p.onAllocationRemoved(x.app, !x.ask.Placeholder, now)
	return x, true
}

// removeAllocation is Release without the usage history and the state change of the application.
func (p *Partition) removeAllocation(x *Allocation) {
	p.unbindFromNode(x)
	p.unregister(x)
	p.reindex(x.app)
}

// Resize changes the resources of an ask or an allocation without a check of quotas (QUO-8,
// LIM-13). Its position among the asks stays; a nomination ends, and so
// does a replacement.
func (p *Partition) Resize(key AllocationKey, amounts resources.Amounts) (*Allocation, error) {
	x, ok := p.allocations[key]
	if !ok {
		return nil, fmt.Errorf("%w key %s", ErrUnknown, key)
	}
	if err := checkQuantities(p.names, amounts, resources.Asks); err != nil {
		return nil, err
	}
	wanted := p.names.Hold(amounts, resources.Asks)
	defer p.names.Release(wanted, resources.Asks)
	growth := slices.Clone(wanted)
	growth.Sub(x.shape.Vector())
	if p.root.Pending().Overflows(p.root.Allocated(), growth) {
		return nil, ErrOverflow
	}
	ask := *x.ask
	ask.Amounts = amounts
	a, n := x.app, x.node
	d, wasPreempting := p.marks.preempting[x]
	p.Gangs().unlink(x)
	p.Gangs().unlinkPlaceholder(x)
	p.unpost(x)
	p.postClassUsage(x, -1)
	p.shapes.Release(p.names, x.shape)
	x.ask, x.shape = &ask, p.acquireShape(&ask)
	if n != nil {
		p.notePlacedResources(x.shape)
	}
	p.postClassUsage(x, 1)
	if n == nil {
		p.addPending(x)
		a.queue.quota.PostPending(x.shape.Vector(), 1)
	} else {
		p.post(x, n, 1)
	}
	if wasPreempting { // unpost has removed the mark
		p.addPreempting(x, d)
	}
	p.reindex(a)
	p.journal.post(Change{Kind: AllocationResized, Ask: x})
	return x, nil
}

// ReplaceAsk gives the pending x another ask, which differs in its constraints on nodes. A nomination or a reservation
// of it ends.
func ReplaceAsk(p *Partition, x *Allocation, ask *Ask) {
	p.unpost(x)
	before := x.shape
	x.ask, x.shape = ask, p.acquireShape(ask)
	p.shapes.Release(p.names, before)
	p.addPending(x)
	x.app.queue.quota.PostPending(x.shape.Vector(), 1)
	p.reindex(x.app)
	p.journal.post(Change{Kind: AllocationResized, Ask: x})
}

// unpost subtracts x from all totals and ends its nomination or its preemption mark. x stays
// registered.
func (p *Partition) unpost(x *Allocation) {
	if x.Pending() {
		p.ClearNomination(x)
		p.Reservations().Clear(x, ReservationResized)
		p.removePending(x)
		x.app.queue.quota.PostPending(x.shape.Vector(), -1)
		return
	}
	p.removePreempting(x)
	p.post(x, x.node, -1)
}

// movedAllocations are the asks and allocations of an application while it counts in no queue.
type movedAllocations struct {
	asks   []*Allocation    // in order
	bound  []*Allocation    // in key order
	marks  []preemptionMark // of bound, by index
	marked []bool           // likewise: it has a mark
}

// takeOut takes all of a out of the totals of its queues, its accounts and its nodes.
func takeOut(p *Partition, a *Application) (m movedAllocations) {
	for _, x := range a.Allocations() {
		if x.Pending() {
			m.asks = append(m.asks, x)
			continue
		}
		mark, marked := p.marks.preempting[x]
		m.bound, m.marks, m.marked = append(m.bound, x), append(m.marks, mark), append(m.marked, marked)
	}
	slices.SortFunc(m.asks, func(x, y *Allocation) int { return policies.CompareAsks(&x.key, &y.key) })
	for _, x := range m.asks {
		p.unpost(x)
		p.postClassUsage(x, -1)
	}
	for _, y := range m.bound {
		p.unpost(y)
		p.postClassUsage(y, -1)
	}
	return m
}

// putBack reverts takeOut, in the leaf that the application has now.
func putBack(p *Partition, m movedAllocations) {
	for i, y := range m.bound {
		p.postClassUsage(y, 1)
		p.post(y, y.node, 1)
		if m.marked[i] {
			p.addPreempting(y, m.marks[i])
		}
	}
	for _, x := range m.asks {
		p.postClassUsage(x, 1)
		p.addPending(x)
		x.app.queue.quota.PostPending(x.shape.Vector(), 1)
	}
}

// register adds x to its application and to the partition as a pending ask. The caller posts its
// quantities. Its ask has the ID of the application, and not a copy in memory of its own.
func (p *Partition) register(x *Allocation) {
	x.shape, x.ask.App = p.acquireShape(x.ask), x.app.ID()
	p.allocations[x.Key()] = x
	x.app.allocations.add(x, indexInApp)
	x.app.key.Submitted = min(x.app.key.Submitted, x.key.Created)
	p.postClassUsage(x, 1)
	p.addPending(x)
}

// unregister removes x from its application and the partition. Requires: it counts in no total.
func (p *Partition) unregister(x *Allocation) {
	p.Gangs().removed(x)
	delete(p.marks.ending, x)
	delete(p.marks.backfilled, x)
	p.postClassUsage(x, -1)
	p.classNumbers.release(x.key.ClassID)
	delete(p.allocations, x.Key())
	x.app.allocations.remove(x, indexInApp)
	p.shapes.Release(p.names, x.shape)
}

// usualAllocations is the number of allocations for which a node has space from the first on.
const usualAllocations = 2

// bindToNode makes a pending x an allocation of n.
func (p *Partition) bindToNode(x *Allocation, n *Node, now time.Time) {
	a := x.app
	if p.marks.anyOfAsks() {
		p.ClearNomination(x)
		p.Reservations().Clear(x, ReservationPlaced)
	}
	if a.gang != nil {
		p.Gangs().unlink(x)
	}
	p.removePending(x)
	x.node, x.boundAt = n, now.UnixNano()
	if n.allocations == nil {
		n.allocations = make(allocationList, 0, usualAllocations)
	}
	n.allocations.add(x, indexOnNode)
	a.boundCount++
	p.boundCount++
	p.countInBudgets(x)
	x.postBound(&p.journal, n)
	if a.allocationsMade < policies.RampAllocations {
		a.allocationsMade++
		if a.allocationsMade == 1 {
			a.firstAllocatedAt = now.UnixNano()
			p.deadlines.ramping.add(a)
		}
	}
	a.rampedUp = a.rampedUp || a.allocationsMade >= policies.RampAllocations
	a.quota.SetRestarting(false)
	if a.gang != nil || a.state != lifecycle.Running {
		p.Gangs().bound(x, now)
	}
	p.updateRunning(a)
}

// unbindFromNode subtracts an allocation from its node and from all totals. x.node stays set.
func (p *Partition) unbindFromNode(x *Allocation) {
	p.removePreempting(x)
	p.budgets.Remove(x)
	p.post(x, x.node, -1)
	x.node.allocations.remove(x, indexOnNode)
	x.app.boundCount--
	p.boundCount--
}

// post adds x to (sign 1), or subtracts it from (sign -1), the allocated resources of n, of its
// application and accounts, and of every queue up to root (QUE-42). It cannot fail.
func (p *Partition) post(x *Allocation, n *Node, sign int) {
	v := x.shape.Vector()
	n.postAllocated(&p.root.quota, v, sign)
	x.postInApplication(&p.journal, v, sign)
	for q := x.app.queue; q != nil; q = q.parent {
		q.quota.Post(v, sign)
	}
	p.journal.post(Change{Kind: QueueUsageChanged, Queue: x.app.queue})
	n.updateAvailable(&p.journal)
	if sign > 0 {
		p.journal.post(Change{Kind: AllocationPosted, Ask: x})
		return
	}
	p.journal.post(Change{Kind: AllocationUnposted, Ask: x})
	p.journal.post(Change{Kind: NodeFreed, Node: n})
}

// postBound is post for an x that the queues count as pending, and then no longer do: one pass over the path instead of
// two.
func (x *Allocation) postBound(j *journal, n *Node) {
	v := x.shape.Vector()
	n.postAllocated(j.order.root, v, 1)
	x.postInApplication(j, v, 1)
	for q := x.app.queue; q != nil; q = q.parent {
		q.quota.PostBound(v)
	}
	j.post(Change{Kind: QueueUsageChanged, Queue: x.app.queue})
	n.updateAvailable(j)
	j.post(Change{Kind: AllocationPosted, Ask: x})
}

// postAllocated adds v to what n has allocated (sign 1) or subtracts it (sign -1), and keeps the deficit of root. It
// precedes the postings in queues, after which the masks of root are computed.
func (n *Node) postAllocated(root *quota.Queue, v resources.Vector, sign int) {
	root.PostDeficit(n.allocated, n.total, -1)
	addSigned(&n.allocated, v, sign)
	root.PostDeficit(n.allocated, n.total, 1)
}

// postInApplication is the part of post that is about the application and its accounts.
func (x *Allocation) postInApplication(j *journal, v resources.Vector, sign int) {
	total := &x.app.allocated
	if x.ask.Placeholder {
		total = &x.app.ownExtra().placeholders
	}
	addSigned(total, v, sign)
	if sign > 0 {
		x.app.peak.SetMax(*total)
	}
	for _, m := range x.app.quota.Memberships() {
		m.Account().Post(v, sign)
		j.post(Change{Kind: AccountUsageChanged, Account: m.Account()})
	}
}

func addSigned(total *resources.Vector, v resources.Vector, sign int) {
	if sign < 0 {
		total.Sub(v)
		return
	}
	total.Add(v)
}
