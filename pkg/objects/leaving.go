package objects

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// What preemption keeps in mind: who was told to leave, and which ask waits on which node
// for that. An allocation that was told to leave keeps all it holds until the RM says that
// it is gone. A nomination is soft: it keeps asks that are no more important from the room
// on the node, and nothing else (priority.md P11).

// Preempt tells victims to leave and nominates x for n, where they run. An older nomination
// of x is void, and so are those of less important asks on n, which are returned in the
// order in which they were made. Requires: x is pending. Victims may run elsewhere too.
func (p *Partition) Preempt(x *Allocation, n *Node, victims []*Allocation, now time.Time) (cleared []*Allocation) {
	p.Unnominate(x)
	for _, other := range slices.Clone(n.nominees) {
		if other.ask.Priority < x.ask.Priority {
			p.Unnominate(other)
			cleared = append(cleared, other)
		}
	}
	for _, y := range victims {
		p.departs(y, now)
	}
	p.nominate(x, n, now)
	return cleared
}

// Suppose does what Preempt does, but for the nominations that end, to see what else could
// be had then. It is taken back by what it returns; nothing else may happen meanwhile but
// more of the same, which is taken back first. Requires: x has no nomination.
func (p *Partition) Suppose(x *Allocation, n *Node, victims []*Allocation) (takeBack func()) {
	changes := p.changes
	for _, y := range victims {
		p.leaves(y, departure{})
	}
	p.nominate(x, n, time.Time{})
	return func() {
		for _, y := range slices.Backward(victims) {
			p.left(y)
		}
		p.denominate(x)
		p.gain(n)
		p.changes = changes
	}
}

func (p *Partition) nominate(x *Allocation, n *Node, now time.Time) {
	p.changedWork(x)
	p.nominated[x] = nomination{n, now}
	p.nominees = append(p.nominees, x)
	for q := x.app.queue; q != nil; q = q.parent {
		q.promised.Add(x.shape.vector)
	}
	n.nominees = append(n.nominees, x)
	p.repost(n, func() { n.held.Add(x.shape.vector) })
}

// denominate takes back what nominate did about x.
func (p *Partition) denominate(x *Allocation) {
	p.changedWork(x)
	n := p.nominated[x].node
	delete(p.nominated, x)
	p.nominees, n.nominees = without(p.nominees, x), without(n.nominees, x)
	for q := x.app.queue; q != nil; q = q.parent {
		q.promised.Sub(x.shape.vector)
	}
	p.repost(n, func() { n.held.Sub(x.shape.vector) })
}

// Changes grows with every change that could let an ask preempt that could not before.
func (p *Partition) Changes() uint64 { return p.changes }

// nomination is the node that an ask waits for, and since when.
type nomination struct {
	node *Node
	at   time.Time
}

// leaves notes that x was told to leave. What it holds counts as leaving, unless it is overdue.
func (p *Partition) leaves(x *Allocation, d departure) {
	p.changedWork(x)
	p.leaving[x] = d
	p.touch(x.node)
	p.countLeaving(x, 1)
	if !d.overdue {
		x.node.leaving = append(x.node.leaving, x)
	}
	for q := x.app.queue; q != nil; q = q.parent {
		q.departing(d).Add(x.shape.vector)
		p.doubt(q)
	}
}

// Unnominate forgets the nomination of x, if there is one.
func (p *Partition) Unnominate(x *Allocation) {
	n := p.Nomination(x)
	if n == nil {
		return
	}
	p.lapsed = append(p.lapsed, Lapsed{x, n, p.nominated[x].at})
	p.denominate(x)
	p.notice(x.class)
	p.overtake(x.class)
	p.gain(n)
	p.Reconsider()
}

// unnominate forgets the nominations on n of the asks that lose reports.
func (p *Partition) unnominate(n *Node, loses func(*Allocation) bool) {
	for _, x := range slices.Clone(n.nominees) {
		if loses(x) {
			p.Unnominate(x)
		}
	}
}

func without(list []*Allocation, x *Allocation) []*Allocation {
	return slices.DeleteFunc(list, func(y *Allocation) bool { return x == y })
}

// left forgets that x was told to leave, as it has left.
func (p *Partition) left(x *Allocation) {
	if !p.Leaving(x) {
		return
	}
	p.changedWork(x)
	d := p.leaving[x]
	delete(p.leaving, x)
	p.touch(x.node)
	p.countLeaving(x, -1)
	if !d.overdue {
		x.node.leaving = without(x.node.leaving, x)
	}
	for q := x.app.queue; q != nil; q = q.parent {
		q.departing(d).Sub(x.shape.vector)
		p.doubt(q)
	}
}

// Leaving reports whether x was told to leave and has not left yet.
func (p *Partition) Leaving(x *Allocation) bool {
	if len(p.leaving) == 0 {
		return false
	}
	_, told := p.leaving[x]
	return told
}

// Nomination is the node that x waits for; nil: none.
func (p *Partition) Nomination(x *Allocation) *Node {
	if len(p.nominees) == 0 {
		return nil
	}
	return p.nominated[x].node
}

// Nominees are the asks with a nomination, in the order in which these were made. Read-only.
func (p *Partition) Nominees() []*Allocation { return p.nominees }

// Fits reports whether x has room on the node it is nominated for, beside the others that
// are and are as important. Requires: x has a nomination.
func (p *Partition) Fits(x *Allocation) bool {
	n := p.nominated[x].node
	if len(n.nominees) == 1 { // nearly always: x alone
		return n.available.Covers(x.shape.vector)
	}
	return n.RoomFor(x).Covers(x.shape.vector)
}

// RoomFor is what x may use of n now: what is available without what is held for other
// nominees that are at least as important.
func (n *Node) RoomFor(x *Allocation) resources.Vector { return n.roomFor(nil, x) }

// RoomOnceLeft sets room to what RoomFor will be when those have gone who were told to leave.
func (n *Node) RoomOnceLeft(room resources.Vector, x *Allocation) resources.Vector {
	room = n.roomFor(room, x)
	for _, y := range n.leaving {
		room.Add(y.shape.vector)
	}
	return room
}

func (n *Node) roomFor(room resources.Vector, x *Allocation) resources.Vector {
	room = append(room[:0], n.available...)
	for _, other := range n.nominees {
		if other != x && other.ask.Priority >= x.ask.Priority {
			room.Sub(other.shape.vector)
		}
	}
	return room
}

// Leaving are the allocations on n that were told to leave and are not overdue, in that
// order. Read-only.
func (n *Node) Leaving() []*Allocation { return n.leaving }

// leftover is what n has for asks that nothing is held for.
func (n *Node) leftover(k resources.Kind) resources.Quantity {
	return resources.Less(n.available.At(k), n.held.At(k))
}

// has reports whether n has room for v beside what is held.
func (n *Node) has(v resources.Vector) bool { return n.available.CoversBeyond(n.held, v) }

// Disturbed are the nodes where somebody was told to leave or something is held, in no
// order, each once.
func (p *Partition) Disturbed() (nodes []*Node) {
	seen := map[*Node]bool{}
	add := func(n *Node) {
		if !seen[n] {
			seen[n] = true
			nodes = append(nodes, n)
		}
	}
	for x := range p.leaving {
		add(x.node)
	}
	for _, waits := range p.nominated {
		add(waits.node)
	}
	return nodes
}
