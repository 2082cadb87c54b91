package objects

// Trial removes allocations from a partition for a dry run and restores them. It changes the totals
// in place and records how to undo that, so a search for victims copies nothing.
//
// A partition has at most one open Trial. While it is open, only the Trial may change the
// partition. End restores the state before Try.
type Trial struct {
	p       *Partition
	removed []removedAllocation // removed allocations, in order
}

type removedAllocation struct {
	x             *Allocation
	class         string // its priority class
	wasPreempting bool   // then it had the preemptionMark
	preemptionMark
}

// Mark is a state of a Trial for Undo.
type Mark int

// Try opens a Trial.
func (p *Partition) Try() *Trial {
	if p.trying {
		panic("objects: a trial is open already")
	}
	p.trying = true
	p.names.PinNumbers() // restored vectors have their indexes again
	return &Trial{p: p}
}

// Mark is the current state of t.
func (t *Trial) Mark() Mark { return Mark(len(t.removed)) }

// Without removes an allocation. It reports false if key has none.
func (t *Trial) Without(key AllocationKey) bool {
	x, ok := t.p.allocations[key]
	if !ok || x.Pending() {
		return false
	}
	d, preempting := t.p.marks.preempting[x]
	t.removed = append(t.removed, removedAllocation{x, t.p.PriorityClass(x), preempting, d})
	t.p.removeAllocation(x)
	return true
}

// Undo restores the allocations that were removed since m, the last first.
func (t *Trial) Undo(m Mark) {
	for i := len(t.removed) - 1; i >= int(m); i-- {
		t.p.restore(t.removed[i].x, t.removed[i].class)
		if t.removed[i].wasPreempting {
			t.p.addPreempting(t.removed[i].x, t.removed[i].preemptionMark)
		}
	}
	t.removed = t.removed[:m]
}

// End restores all allocations and closes the Trial.
func (t *Trial) End() {
	t.Undo(0)
	t.p.trying = false
	t.p.names.UnpinNumbers()
}

// restore reverts removeAllocation.
func (p *Partition) restore(x *Allocation, class string) {
	a := x.app
	x.shape, x.key.ClassID = p.acquireShape(x.ask), p.classNumbers.acquire(class)
	p.postClassUsage(x, 1)
	p.allocations[x.Key()] = x
	a.allocations.add(x, indexInApp)
	x.node.allocations.add(x, indexOnNode)
	a.boundCount++
	p.boundCount++
	p.countInBudgets(x)
	p.post(x, x.node, 1)
	p.reindex(a)
}
