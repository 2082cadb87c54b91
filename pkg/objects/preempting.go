package objects

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Allocations that are marked for preemption, and nominations. A preempting allocation keeps its
// resources until the RM confirms its release (PRE-83). A nomination holds the resources of its ask
// on the node (PRE-75), counts in its queues for guarantees and quotas (PRE-14), and is placed
// first (ORD-6).

// marks are the preempting allocations, the nominations and the reservations of a partition.
type marks struct {
	preempting map[*Allocation]preemptionMark // marked for preemption, not released
	nominated  map[*Allocation]nomination     // pending, nominated for a node
	nominees   []*Allocation                  // the nominated asks, in the order of their nomination
	ending     map[*Allocation]struct{}       // whose release is ordered for another reason; nil: none ever was
	backfilled map[*Allocation]struct{}       // which use what is held for reservations; nil: none ever did

	reservations reservations
}

func newMarks() marks {
	return marks{preempting: map[*Allocation]preemptionMark{}, nominated: map[*Allocation]nomination{},
		reservations: newReservations()}
}

// anyOfAsks reports whether an ask is nominated or has reserved a node.
func (m *marks) anyOfAsks() bool { return len(m.nominees)+len(m.reservations.asks) > 0 }

// Preempt marks victims for preemption and nominates x for n (PRE-73). An older nomination of x
// ends, and so do those for n of asks with lower priority, which are returned in the order of their
// nomination (PRE-76); the reservation of x ends, and so do those of n of asks without a higher
// priority (RES-9). Requires: x is pending. Victims may run on other nodes than n.
func (p *Partition) Preempt(x *Allocation, n *Node, victims []*Allocation, now time.Time) (cleared []*Allocation) {
	p.ClearNomination(x)
	p.Reservations().Clear(x, ReservationNominated)
	p.Reservations().clearFor(x, n)
	for _, other := range slices.Clone(n.extra.nominees) {
		if other.ask.Priority < x.ask.Priority {
			p.ClearNomination(other)
			cleared = append(cleared, other)
		}
	}
	p.MarkPreempting(victims, now)
	p.addNomination(x, n, now)
	return cleared
}

// DryRunPreempt does what Preempt does, except that no nomination ends, so that the caller can
// evaluate what else could be preempted then. undo reverts it. Until undo the caller may change
// nothing but by further calls, which must be undone first. Requires: x has no nomination.
func (p *Partition) DryRunPreempt(x *Allocation, n *Node, victims []*Allocation) (undo func()) {
	for _, y := range victims {
		p.addPreempting(y, preemptionMark{})
	}
	p.addNomination(x, n, time.Time{})
	return func() {
		for _, y := range slices.Backward(victims) {
			p.removePreempting(y)
		}
		p.removeNomination(x)
		p.journal.post(Change{Kind: NodeRestored, Node: n})
	}
}

func (p *Partition) addNomination(x *Allocation, n *Node, now time.Time) {
	p.marks.nominated[x] = nomination{n, now}
	p.marks.nominees = append(p.marks.nominees, x)
	x.app.queue.quota.PostNominated(x.shape.Vector(), 1)
	c := n.ownExtra()
	c.nominees = append(c.nominees, x)
	c.held.Add(x.shape.Vector())
	n.updateAvailable(&p.journal)
	p.journal.post(Change{Kind: NominationAdded, Ask: x, Node: n})
}

// removeNomination reverts addNomination.
func (p *Partition) removeNomination(x *Allocation) {
	n := p.marks.nominated[x].node
	c := n.ownExtra()
	delete(p.marks.nominated, x)
	p.marks.nominees, c.nominees = removeAllocationFrom(p.marks.nominees, x), removeAllocationFrom(c.nominees, x)
	x.app.queue.quota.PostNominated(x.shape.Vector(), -1)
	c.held.Sub(x.shape.Vector())
	n.updateAvailable(&p.journal)
	p.journal.post(Change{Kind: NominationRemoved, Ask: x, Node: n})
}

// nomination is the node for which an ask is nominated, and the time of the nomination.
type nomination struct {
	node *Node
	at   time.Time
}

// addPreempting marks x for preemption. Its resources count in its queues as an expected release, or as
// an overdue one (QUE-43).
func (p *Partition) addPreempting(x *Allocation, d preemptionMark) {
	p.marks.preempting[x] = d
	p.budgets.CountPreempting(x, 1)
	if !d.overdue {
		c := x.node.ownExtra()
		c.preempting = append(c.preempting, x)
	}
	for q := x.app.queue; q != nil; q = q.parent {
		q.quota.PostPreempting(x.shape.Vector(), d.overdue, 1)
	}
	p.journal.post(Change{Kind: QueuePreemptingChanged, Queue: x.app.queue})
	p.journal.post(Change{Kind: PreemptionMarked, Ask: x})
}

// ClearNomination ends the nomination of x, if it has one.
func (p *Partition) ClearNomination(x *Allocation) {
	n := p.Nomination(x)
	if n == nil {
		return
	}
	since := p.marks.nominated[x].at
	p.removeNomination(x)
	p.journal.post(Change{Kind: NominationEnded, Ask: x, Node: n, Since: since})
	p.journal.post(Change{Kind: NodeFreed, Node: n})
}

// clearEach calls clear, which may remove it from the list, with each of a list for which ends returns true.
func clearEach(list []*Allocation, ends func(*Allocation) bool, clear func(*Allocation)) {
	if len(list) == 0 {
		return
	}
	for _, x := range slices.Clone(list) {
		if ends(x) {
			clear(x)
		}
	}
}

func removeAllocationFrom(list []*Allocation, x *Allocation) []*Allocation {
	if i := slices.Index(list, x); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
}

// removePreempting removes the preemption mark of x, if it has one.
func (p *Partition) removePreempting(x *Allocation) {
	if !p.Preempting(x) {
		return
	}
	d := p.marks.preempting[x]
	delete(p.marks.preempting, x)
	p.budgets.CountPreempting(x, -1)
	if !d.overdue {
		c := x.node.ownExtra()
		c.preempting = removeAllocationFrom(c.preempting, x)
	}
	for q := x.app.queue; q != nil; q = q.parent {
		q.quota.PostPreempting(x.shape.Vector(), d.overdue, -1)
	}
	p.journal.post(Change{Kind: QueuePreemptingChanged, Queue: x.app.queue})
	p.journal.post(Change{Kind: PreemptionUnmarked, Ask: x})
}

// Preempting reports whether x is marked for preemption and not released yet.
func (p *Partition) Preempting(x *Allocation) bool {
	if len(p.marks.preempting) == 0 {
		return false
	}
	_, preempting := p.marks.preempting[x]
	return preempting
}

// PreemptingCount returns how many allocations are preempting.
func (p *Partition) PreemptingCount() int { return len(p.marks.preempting) }

// EachPreempting yields the preempting allocations, in no order.
func (p *Partition) EachPreempting(yield func(*Allocation) bool) {
	for x := range p.marks.preempting {
		if !yield(x) {
			return
		}
	}
}

// NominationTimeout returns how long a nomination lasts, and how long the release of a victim is expected (PRE-81,
// PRE-87); zero or less: without end.
func (p *Partition) NominationTimeout() time.Duration { return p.conf.NominationTimeout }

// Nomination is the node for which x is nominated; nil: none.
func (p *Partition) Nomination(x *Allocation) *Node {
	if len(p.marks.nominees) == 0 {
		return nil
	}
	return p.marks.nominated[x].node
}

// Nominees are the nominated asks, in the order of their nomination. Read-only.
func (p *Partition) Nominees() []*Allocation { return p.marks.nominees }

// FitsNominated reports whether x fits the node for which it is nominated, with the other nominees
// of at least its priority placed there. Requires: x has a nomination.
func (p *Partition) FitsNominated(x *Allocation) bool {
	n := p.marks.nominated[x].node
	if len(n.extra.nominees) == 1 && len(n.extra.replacing) == 0 { // the usual case
		return n.available.Covers(x.shape.Vector())
	}
	return n.FreeFor(x).Covers(x.shape.Vector())
}

// FreeFor returns what x may use of n now: what is available, less what is held for other nominees of at
// least its priority and for asks that replace placeholders.
func (n *Node) FreeFor(x *Allocation) resources.Vector {
	return n.freeWithoutHeld(nil, func(y *Allocation) bool { return y.outranks(x) })
}

// FreeAfterPreemption sets free to what x may use of n after the release of all preempting allocations of n that are
// not overdue, less what is held for reservations of asks with a higher priority, and returns it. For asks of one shape
// and priority that may preempt it is the same.
func (n *Node) FreeAfterPreemption(free resources.Vector, x *Allocation) resources.Vector {
	free = n.freeWithoutHeld(free, func(y *Allocation) bool { return y.outranks(x) })
	for _, other := range n.extra.reserved {
		if other.ask.Priority > x.ask.Priority {
			free.Sub(other.shape.Vector())
		}
	}
	for _, y := range n.extra.preempting {
		free.Add(y.shape.Vector())
	}
	return free
}

// outranks reports whether what is held for x is not for y: x is another ask, and has at least its priority.
func (x *Allocation) outranks(y *Allocation) bool { return x != y && x.ask.Priority >= y.ask.Priority }

// freeWithoutHeld sets free to what is available of n, less what is held for the nominees for which counts returns
// true and for asks that replace placeholders, and returns it.
func (n *Node) freeWithoutHeld(free resources.Vector, counts func(*Allocation) bool) resources.Vector {
	free = append(free[:0], n.available...)
	for _, other := range n.extra.replacing {
		free.Sub(other.shape.Vector())
	}
	for _, other := range n.extra.nominees {
		if counts(other) {
			free.Sub(other.shape.Vector())
		}
	}
	return free
}

// Preempting are the allocations on n that are marked for preemption and not overdue, in the order
// in which they were marked. Read-only.
func (n *Node) Preempting() []*Allocation { return n.extra.preempting }

// Free is the quantity of k on n for asks for which nothing of n is held.
func (n *Node) Free(k resources.Index) resources.Quantity {
	return resources.SubSaturated(n.available.At(k), n.extra.held.At(k))
}

// hasFree reports whether v fits n beside what is held.
func (n *Node) hasFree(v resources.Vector) bool { return n.available.CoversAfter(n.extra.held, v) }

// NodesInPreemption are the nodes that are InPreemption, each once, in no order.
func (p *Partition) NodesInPreemption() (nodes []*Node) {
	seen := map[*Node]bool{}
	add := func(n *Node) {
		if !seen[n] {
			seen[n] = true
			nodes = append(nodes, n)
		}
	}
	for x := range p.marks.preempting {
		add(x.node)
	}
	for _, nom := range p.marks.nominated {
		add(nom.node)
	}
	for _, r := range p.marks.reservations.byAsk {
		add(r.node)
	}
	return nodes
}
