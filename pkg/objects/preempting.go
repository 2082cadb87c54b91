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
	p.ClearNomination(x)
	for _, other := range slices.Clone(n.nominees) {
		if other.ask.Priority < x.ask.Priority {
			p.ClearNomination(other)
			cleared = append(cleared, other)
		}
	}
	for _, y := range victims {
		p.markVictim(y, now)
	}
	p.addNomination(x, n, now)
	return cleared
}

// DryRunPreempt does what Preempt does, but for the nominations that end, to see what else could
// be had then. It is taken back by what it returns; nothing else may happen meanwhile but
// more of the same, which is taken back first. Requires: x has no nomination.
func (p *Partition) DryRunPreempt(x *Allocation, n *Node, victims []*Allocation) (undo func()) {
	generation := p.preemptionGeneration
	for _, y := range victims {
		p.addPreempting(y, preemptionMark{})
	}
	p.addNomination(x, n, time.Time{})
	return func() {
		for _, y := range slices.Backward(victims) {
			p.removePreempting(y)
		}
		p.removeNomination(x)
		p.noteFreedNode(n)
		p.preemptionGeneration = generation
	}
}

func (p *Partition) addNomination(x *Allocation, n *Node, now time.Time) {
	p.recordAllocationChange(x)
	p.nominated[x] = nomination{n, now}
	p.nominees = append(p.nominees, x)
	for q := x.app.queue; q != nil; q = q.parent {
		q.nominated.Add(x.shape.vector)
	}
	n.nominees = append(n.nominees, x)
	p.updateNode(n, func() { n.heldForNominees.Add(x.shape.vector) })
}

// removeNomination takes back what nominate did about x.
func (p *Partition) removeNomination(x *Allocation) {
	p.recordAllocationChange(x)
	n := p.nominated[x].node
	delete(p.nominated, x)
	p.nominees, n.nominees = removeAllocationFrom(p.nominees, x), removeAllocationFrom(n.nominees, x)
	for q := x.app.queue; q != nil; q = q.parent {
		q.nominated.Sub(x.shape.vector)
	}
	p.updateNode(n, func() { n.heldForNominees.Sub(x.shape.vector) })
}

// PreemptionGeneration grows with every change that could let an ask preempt that could not before.
func (p *Partition) PreemptionGeneration() uint64 { return p.preemptionGeneration }

// nomination is the node that an ask waits for, and since when.
type nomination struct {
	node *Node
	at   time.Time
}

// addPreempting notes that x was told to leave. What it holds counts as leaving, unless it is overdue.
func (p *Partition) addPreempting(x *Allocation, d preemptionMark) {
	p.recordAllocationChange(x)
	p.preempting[x] = d
	p.markNodeChanged(x.node)
	p.countPreempting(x, 1)
	if !d.overdue {
		x.node.preempting = append(x.node.preempting, x)
	}
	for q := x.app.queue; q != nil; q = q.parent {
		q.releaseTotal(d).Add(x.shape.vector)
		p.markToRecheck(q)
	}
}

// ClearNomination forgets the nomination of x, if there is one.
func (p *Partition) ClearNomination(x *Allocation) {
	n := p.Nomination(x)
	if n == nil {
		return
	}
	p.endedNominations = append(p.endedNominations, EndedNomination{x, n, p.nominated[x].at})
	p.removeNomination(x)
	p.addPreemptor(x.group)
	p.noteFirstAskChange(x.group)
	p.noteFreedNode(n)
	p.RequestRequeue()
}

// clearNominationsOn forgets the nominations on n of the asks that lose reports.
func (p *Partition) clearNominationsOn(n *Node, loses func(*Allocation) bool) {
	for _, x := range slices.Clone(n.nominees) {
		if loses(x) {
			p.ClearNomination(x)
		}
	}
}

func removeAllocationFrom(list []*Allocation, x *Allocation) []*Allocation {
	return slices.DeleteFunc(list, func(y *Allocation) bool { return x == y })
}

// removePreempting forgets that x was told to leave, as it has left.
func (p *Partition) removePreempting(x *Allocation) {
	if !p.Preempting(x) {
		return
	}
	p.recordAllocationChange(x)
	d := p.preempting[x]
	delete(p.preempting, x)
	p.markNodeChanged(x.node)
	p.countPreempting(x, -1)
	if !d.overdue {
		x.node.preempting = removeAllocationFrom(x.node.preempting, x)
	}
	for q := x.app.queue; q != nil; q = q.parent {
		q.releaseTotal(d).Sub(x.shape.vector)
		p.markToRecheck(q)
	}
}

// Preempting reports whether x was told to leave and has not left yet.
func (p *Partition) Preempting(x *Allocation) bool {
	if len(p.preempting) == 0 {
		return false
	}
	_, preempting := p.preempting[x]
	return preempting
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

// FitsNominated reports whether x has room on the node it is nominated for, beside the others that
// are and are as important. Requires: x has a nomination.
func (p *Partition) FitsNominated(x *Allocation) bool {
	n := p.nominated[x].node
	if len(n.nominees) == 1 { // nearly always: x alone
		return n.available.Covers(x.shape.vector)
	}
	return n.FreeFor(x).Covers(x.shape.vector)
}

// FreeFor is what x may use of n now: what is available without what is held for other
// nominees that are at least as important.
func (n *Node) FreeFor(x *Allocation) resources.Vector { return n.freeForInto(nil, x) }

// FreeAfterPreemption sets room to what FreeFor will be when those have gone who were told to leave.
func (n *Node) FreeAfterPreemption(free resources.Vector, x *Allocation) resources.Vector {
	free = n.freeForInto(free, x)
	for _, y := range n.preempting {
		free.Add(y.shape.vector)
	}
	return free
}

func (n *Node) freeForInto(free resources.Vector, x *Allocation) resources.Vector {
	free = append(free[:0], n.available...)
	for _, other := range n.nominees {
		if other != x && other.ask.Priority >= x.ask.Priority {
			free.Sub(other.shape.vector)
		}
	}
	return free
}

// Preempting are the allocations on n that were told to leave and are not overdue, in that
// order. Read-only.
func (n *Node) Preempting() []*Allocation { return n.preempting }

// free is what n has for asks that nothing is held for.
func (n *Node) free(k resources.Index) resources.Quantity {
	return resources.SubSaturated(n.available.At(k), n.heldForNominees.At(k))
}

// hasFree reports whether n has room for v beside what is held.
func (n *Node) hasFree(v resources.Vector) bool { return n.available.CoversAfter(n.heldForNominees, v) }

// NodesInPreemption are the nodes where somebody was told to leave or something is held, in no
// order, each once.
func (p *Partition) NodesInPreemption() (nodes []*Node) {
	seen := map[*Node]bool{}
	add := func(n *Node) {
		if !seen[n] {
			seen[n] = true
			nodes = append(nodes, n)
		}
	}
	for x := range p.preempting {
		add(x.node)
	}
	for _, waits := range p.nominated {
		add(waits.node)
	}
	return nodes
}
