package scheduler

import (
	"github.com/canopy-scheduler/canopy/pkg/nodeselection"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// firstFeasibleNode is the first node, by preference and then in node order, that has the free resources for x, that
// other allocations leave to it and that the Oracle (the predicates of the RM) accepts; nil: none (ORD-1, NOD-29,
// NOD-32, NOD-33, CON-13, CON-28).
func (c *Core) firstFeasibleNode(x *objects.Allocation) *objects.Node {
	return c.firstFeasibleOf(x, c.nodes.For(x))
}

// firstFeasibleOf is firstFeasibleNode for what check leaves to x.
func (c *Core) firstFeasibleOf(x *objects.Allocation, check nodeselection.Check) *objects.Node {
	if c.oracle == nil {
		return check.First()
	}
	if c.oracle.FitsEach != nil {
		return c.firstAcceptedInBatches(x, check)
	}
	return c.firstAcceptedOneByOne(x, check)
}

func (c *Core) firstAcceptedOneByOne(x *objects.Allocation, check nodeselection.Check) *objects.Node {
	for n := range check.Nodes() {
		if c.accepts(x, n) {
			return n
		}
	}
	return nil
}

// nodeHost is a Core as the engines of preemption and of reservations see it: it answers what they ask about nodes.
type nodeHost struct{ c *Core }

// Allows implements preemption.Host and reservation.Host.
func (h nodeHost) Allows(x *objects.Allocation, n *objects.Node, gone []*objects.Allocation) bool {
	return h.c.nodes.For(x).Without(gone).Allows(n)
}

// MayRefuse implements preemption.Host.
func (h nodeHost) MayRefuse(x *objects.Allocation) bool { return h.c.nodes.For(x).MayRefuse() }

// Accepts implements preemption.Host and reservation.Host.
func (h nodeHost) Accepts(x *objects.Allocation, n *objects.Node) bool {
	return h.c.nodes.For(x).Allows(n) && (h.c.oracle == nil || h.c.oracle.Fits(x.Key(), n.ID()))
}

// accepts reports whether the Oracle accepts x on n. It is asked, unless its answer is remembered (NOD-41).
func (c *Core) accepts(x *objects.Allocation, n *objects.Node) bool {
	if c.oracle == nil {
		return true
	}
	accepted, known := c.answers.of(x, n)
	if !known {
		accepted = c.oracle.Fits(x.Key(), n.ID())
		c.answers.remember(x, n, accepted)
	}
	return accepted
}

// acceptsWhenFree reports whether the Oracle would accept x on n if n had the free resources for x: a placeholder holds
// them, and the RM counts it.
func (c *Core) acceptsWhenFree(x *objects.Allocation, n *objects.Node) bool {
	if c.oracle == nil || c.oracle.FitsWhenFree == nil {
		return c.accepts(x, n)
	}
	return c.oracle.FitsWhenFree(x.Key(), n.ID())
}

// Sizes of batches. The first node is asked about alone, because nearly always it is accepted.
const (
	firstBatch = 8
	maxBatch   = 64
)

// firstAcceptedInBatches is firstFeasibleNode for an Oracle that answers batches (NOD-40).
func (c *Core) firstAcceptedInBatches(x *objects.Allocation, check nodeselection.Check) *objects.Node {
	n := check.First()
	if n == nil || c.accepts(x, n) {
		return n
	}
	return c.firstAcceptedBehind(x, check, n)
}

// firstAcceptedBehind is the first node that is accepted for x, which first, the first that check leaves to it, is not.
// A batch has the nodes whose answer is not remembered, up to the first that is known to be accepted.
func (c *Core) firstAcceptedBehind(
	x *objects.Allocation, check nodeselection.Check, first *objects.Node) *objects.Node {
	batch, size := c.batch[:0], firstBatch
	defer func() { c.batch = batch }()
	for n := range check.Nodes() {
		if n == first {
			continue
		}
		accepted, known := c.answers.of(x, n)
		switch {
		case accepted:
			if before := c.firstAcceptedOf(x, batch); before != nil {
				return before
			}
			return n
		case known:
			continue
		}
		batch = append(batch, n)
		if len(batch) < size {
			continue
		}
		if accepted := c.firstAcceptedOf(x, batch); accepted != nil {
			return accepted
		}
		batch, size = batch[:0], min(8*size, maxBatch)
	}
	return c.firstAcceptedOf(x, batch)
}

// firstAcceptedOf asks about a batch of nodes, and is the first that is accepted; nil: none.
func (c *Core) firstAcceptedOf(x *objects.Allocation, batch []*objects.Node) (first *objects.Node) {
	switch len(batch) {
	case 0:
		return nil
	case 1:
		if c.accepts(x, batch[0]) {
			first = batch[0]
		}
		return first
	}
	c.batchIDs = c.batchIDs[:0]
	for _, n := range batch {
		c.batchIDs = append(c.batchIDs, n.ID())
	}
	for i, accepted := range c.oracle.FitsEach(x.Key(), c.batchIDs) {
		c.answers.remember(x, batch[i], accepted)
		if accepted && first == nil {
			first = batch[i]
		}
	}
	return first
}
