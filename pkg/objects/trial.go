package objects

// Trial is a what-if on a partition. It posts to the real books and remembers how to
// take every posting back, so a search over victims copies nothing.
//
// A partition has at most one open Trial, and nobody else changes the partition while
// it is open. It ends with End, which leaves the books as they were before it.
type Trial struct {
	p     *Partition
	taken []taken // freed, in that order
}

type taken struct {
	x             *Allocation
	class         string // its priority class
	wasPreempting bool   // to leave, as follows
	preemptionMark
}

// Mark is a point a Trial can return to.
type Mark int

// Try opens a Trial.
func (p *Partition) Try() *Trial {
	if p.trying {
		panic("objects: a trial is open already")
	}
	p.trying = true
	p.names.PinNumbers() // what is taken back has its number again
	return &Trial{p: p}
}

// Mark remembers this point.
func (t *Trial) Mark() Mark { return Mark(len(t.taken)) }

// Without pretends that an allocation is gone. It reports false when there is no
// allocation of that key.
func (t *Trial) Without(key AllocationKey) bool {
	x, ok := t.p.allocations[key]
	if !ok || x.Pending() {
		return false
	}
	d, preempting := t.p.preempting[x]
	t.taken = append(t.taken, taken{x, t.p.PriorityClass(x), preempting, d})
	t.p.removeAllocation(x)
	return true
}

// Undo takes back everything since m, newest first.
func (t *Trial) Undo(m Mark) {
	for i := len(t.taken) - 1; i >= int(m); i-- {
		t.p.restore(t.taken[i].x, t.taken[i].class)
		if t.taken[i].wasPreempting {
			t.p.addPreempting(t.taken[i].x, t.taken[i].preemptionMark)
		}
	}
	t.taken = t.taken[:m]
}

// End takes everything back and closes the Trial.
func (t *Trial) End() {
	t.Undo(0)
	t.p.trying = false
	t.p.names.UnpinNumbers()
}

// restore is Free taken back.
func (p *Partition) restore(x *Allocation, class string) {
	a := x.app
	x.shape, x.key.ClassID = p.acquireShape(x.ask), p.classNumbers.acquire(class)
	p.postClassQuotas(x, 1)
	p.allocations[x.Key()] = x
	a.allocations.add(x, indexInApp)
	x.node.allocations.add(x, indexOnNode)
	a.boundCount++
	p.boundCount++
	p.countInBudgets(x)
	p.post(x, x.node, 1)
	p.reindex(a)
}
