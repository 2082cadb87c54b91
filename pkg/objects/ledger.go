package objects

import (
	"fmt"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// The ledger: the only code that moves quantities. An allocation is in the books of
// its node, its application, its leaf and every ancestor at once, or in none of them.

// Place gives a pending ask the node that was decided on. It must fit the node and every
// queue on the way up: the books are asked once more, and when they do not agree nothing
// changes.
func (p *Partition) Place(x *Allocation, n *Node, now time.Time) error {
	if err := p.admits(x, n); err != nil {
		return fmt.Errorf("place %s on %s: %w", x.Key(), n.id, err)
	}
	p.give(x, n, now)
	return nil
}

// PlaceReported gives a pending ask the node that the RM says it has. No limit is asked.
func (p *Partition) PlaceReported(key AllocationKey, on NodeID, now time.Time) (*Allocation, error) {
	x, ok := p.work[key]
	if !ok || !x.Pending() {
		return nil, fmt.Errorf("%w pending ask %s", ErrUnknown, key)
	}
	n, ok := p.nodes[on]
	if !ok {
		return nil, fmt.Errorf("%w node %s", ErrUnknown, on)
	}
	p.mayPeak(x.shape)
	p.give(x, n, now)
	return x, nil
}

func (p *Partition) give(x *Allocation, n *Node, now time.Time) {
	p.toNode(x, n, now)
	p.stand(x.app)
}

// admits checks everything a decided binding must respect, and changes nothing.
func (p *Partition) admits(x *Allocation, n *Node) error {
	if !n.Takes(x.shape) && !(p.Nomination(x) == n && p.Fits(x)) || x.shape.required != "" && x.shape.required != n.id {
		return ErrNoRoom
	}
	if q := p.Ceiling(x.app.queue, x.shape); q != nil {
		return fmt.Errorf("queue %s: %w", q.path, ErrOverLimit)
	}
	if q, h, over := p.OverLimit(x.app, x.shape); over {
		return fmt.Errorf("%s in queue %s: %w", h, q.path, ErrOverLimit)
	}
	if q, _, barred := p.Barrier(x.app); barred {
		return fmt.Errorf("applications of queue %s: %w", q.path, ErrOverLimit)
	}
	return nil
}

// Free takes an allocation out of every book it is in, for good.
func (p *Partition) Free(key AllocationKey, now time.Time) (*Allocation, bool) {
	x, ok := p.work[key]
	if !ok || x.Pending() {
		return nil, false
	}
	p.recordUsage(x, now)
	p.free(x)
	p.ended(x.app, !x.ask.Placeholder, now)
	return x, true
}

// free is Free without what it means for the application.
func (p *Partition) free(x *Allocation) {
	p.fromNode(x)
	p.leave(x)
	p.stand(x.app)
	p.Reconsider()
}

// Return takes the node from an allocation, which becomes the pending ask it was, in
// its old place among the asks (seed 004; it counts as never made).
func (p *Partition) Return(key AllocationKey) (*Allocation, bool) {
	x, ok := p.work[key]
	if !ok || x.Pending() {
		return nil, false
	}
	a := x.app
	p.fromNode(x)
	p.postPending(a, x.shape.vector, 1)
	x.node = nil
	if a.made--; a.made < policies.RampAllocations {
		a.ramped = false
		p.watchRamp(a)
	}
	p.addPending(x)
	p.stand(a)
	p.Reconsider()
	return x, true
}

// Resize changes what an ask or an allocation takes, without asking any quota
// (behaviour.md 10.8). Its place among the asks stays.
func (p *Partition) Resize(key AllocationKey, amounts resources.Amounts) (*Allocation, error) {
	x, ok := p.work[key]
	if !ok {
		return nil, fmt.Errorf("%w key %s", ErrUnknown, key)
	}
	if err := p.quantities(amounts, resources.Asks); err != nil {
		return nil, err
	}
	wanted := p.names.Hold(amounts, resources.Asks)
	defer p.names.Release(wanted, resources.Asks)
	growth := slices.Clone(wanted)
	growth.Sub(x.shape.vector)
	if p.root.pending.Overflows(p.root.allocated, growth) {
		return nil, ErrOverflow
	}
	ask := *x.ask
	ask.Amounts = amounts
	a, n := x.app, x.node
	d, told := p.leaving[x]
	p.withdraw(x)
	p.meter(x, -1)
	p.giveBackShape(x.shape, x.ask)
	x.ask, x.shape = &ask, p.takeShape(&ask)
	if n != nil {
		p.mayPeak(x.shape)
	}
	p.meter(x, 1)
	if n == nil {
		p.addPending(x)
		p.postPending(a, x.shape.vector, 1)
	} else {
		p.post(x, n, 1)
	}
	if told { // it still is
		p.leaves(x, d)
	}
	p.stand(a)
	p.Reconsider()
	return x, nil
}

// withdraw takes x out of the books of quantities, and leaves all else as it is.
func (p *Partition) withdraw(x *Allocation) {
	if x.Pending() {
		p.Unnominate(x)
		p.removePending(x)
		p.postPending(x.app, x.shape.vector, -1)
		return
	}
	p.left(x)
	p.post(x, x.node, -1)
}

// enter makes x known as a pending ask.
func (p *Partition) enter(x *Allocation) {
	p.changedWork(x)
	x.shape = p.takeShape(x.ask)
	p.work[x.Key()] = x
	x.app.work.add(x, placeInApp)
	x.app.key.Submitted = min(x.app.key.Submitted, x.key.Created)
	p.meter(x, 1)
	p.addPending(x)
}

// leave forgets x. Requires: it is in no book.
func (p *Partition) leave(x *Allocation) {
	p.changedWork(x)
	p.meter(x, -1)
	p.classNames.giveBack(x.key.Mark)
	delete(p.work, x.Key())
	x.app.work.remove(x, placeInApp)
	p.giveBackShape(x.shape, x.ask)
}

// toNode moves a pending x into the allocated books.
func (p *Partition) toNode(x *Allocation, n *Node, now time.Time) {
	a := x.app
	p.Unnominate(x)
	p.removePending(x)
	p.postPending(a, x.shape.vector, -1)
	x.node, x.boundAt = n, now.UnixNano()
	n.work.add(x, placeOnNode)
	a.bound++
	p.bound++
	p.guard(x)
	p.post(x, n, 1)
	if a.made++; a.made == 1 {
		a.firstMade = now
		p.watchRamp(a)
	}
	a.ramped = a.ramped || a.made >= policies.RampAllocations
	a.again = false
	p.move(a, RunApplication, WasPlaced, now)
	p.recount(a)
}

// fromNode takes a bound x out of the allocated books.
func (p *Partition) fromNode(x *Allocation) {
	p.left(x)
	p.unguard(x)
	p.post(x, x.node, -1)
	x.node.work.remove(x, placeOnNode)
	x.app.bound--
	p.bound--
}

// post puts x into, or takes it from, the allocated book of its node, its application
// and every queue up to root. It cannot fail.
func (p *Partition) post(x *Allocation, n *Node, sign int) {
	p.changedWork(x)
	book := &x.app.allocated
	if x.ask.Placeholder {
		book = &x.app.placeholders
	}
	v := x.shape.vector
	if move(book, v, sign); sign > 0 {
		x.app.peak.Raise(*book)
	}
	p.charge(x.app, v, sign)
	for q := x.app.queue; q != nil; q = q.parent {
		q.bound += sign
		move(&q.allocated, v, sign)
		p.refit(q)
		p.doubt(q)
	}
	p.repost(n, func() { move(&n.allocated, v, sign) })
	if sign < 0 {
		p.gain(n)
	}
}

// postPending is post for the pending books of the queues; the application's own is
// kept with its classes.
func (p *Partition) postPending(a *Application, v resources.Vector, sign int) {
	for q := a.queue; q != nil; q = q.parent {
		move(&q.pending, v, sign)
	}
}

func move(book *resources.Vector, v resources.Vector, sign int) {
	if sign < 0 {
		book.Sub(v)
		return
	}
	book.Add(v)
}
