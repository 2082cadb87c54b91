package objects

import (
	"cmp"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// slots numbers the shapes of a partition, so that a set of shapes is a mask. A question
// such as "which shapes fit into what is left here?" is then answered for all shapes at
// once: per resource one search among the amounts that shapes ask for, and an
// intersection (architecture.md 9.2).
//
// The table is bounded. A shape that finds no place in it has the slot unslotted, which
// every queue and every node promises to take: its asks are looked at one by one, and
// set aside while nothing can be done for them.
type slots struct {
	most     int              // how many there may be
	shapes   []*Shape         // by slot; nil: free, or unslotted
	free     []int            // slots that had a shape
	required Mask             // the slots of shapes that accept only one node
	at       map[NodeID][]int // and those that accept only this one
	needs    []needs          // by kind; stale until settled
	stale    bool
}

// unslotted is the slot of all shapes that have none of their own.
const unslotted = 0

// needs is what shapes ask for of one kind.
type needs struct {
	amounts []resources.Quantity // above zero, ascending, each once
	upto    []Mask               // upto[i]: the shapes that need at most amounts[:i], or none of it
}

// DefaultShapes is how many shapes a partition can tell apart at once, if it is not told
// otherwise. A production trace of 8,152 tasks has 151.
const DefaultShapes = 512

func newSlots(most int) slots {
	return slots{most: most, shapes: make([]*Shape, unslotted+1), at: map[NodeID][]int{}}
}

// take gives s a slot. It reports false when s has to stay unslotted.
func (t *slots) take(s *Shape) bool {
	switch {
	case len(t.free) > 0:
		s.slot = t.free[len(t.free)-1]
		t.free = t.free[:len(t.free)-1]
	case len(t.shapes) > t.most:
		return false
	default:
		s.slot = len(t.shapes)
		t.shapes = append(t.shapes, nil)
	}
	t.shapes[s.slot] = s
	if t.required.put(s.slot, s.required != ""); s.required != "" {
		t.at[s.required] = append(t.at[s.required], s.slot)
	}
	t.stale = true
	return true
}

// giveBack frees the slot of s. Masks keep the bit, which means nothing until somebody
// takes the slot, and then it is decided anew everywhere.
func (t *slots) giveBack(s *Shape) {
	if s.slot != unslotted {
		t.shapes[s.slot] = nil
		t.free = append(t.free, s.slot)
		if s.required != "" {
			t.forgetRequired(s)
		}
		t.stale = true
	}
}

// settle brings needs up to date. kinds is how many resources there are.
func (t *slots) settle(kinds int) {
	if !t.stale && len(t.needs) == kinds {
		return
	}
	t.stale = false
	t.needs = t.needs[:0]
	for k := range kinds {
		t.needs = append(t.needs, t.needsOf(resources.Kind(k)))
	}
}

func (t *slots) forgetRequired(s *Shape) {
	t.required.put(s.slot, false)
	left := slices.DeleteFunc(t.at[s.required], func(slot int) bool { return slot == s.slot })
	if t.at[s.required] = left; len(left) == 0 {
		delete(t.at, s.required)
	}
}

func (t *slots) needsOf(k resources.Kind) needs {
	var used []*Shape
	var anyway Mask
	anyway.put(unslotted, true)
	for _, s := range t.shapes {
		switch {
		case s == nil:
		case s.vector.At(k) == 0:
			anyway.put(s.slot, true)
		default:
			used = append(used, s)
		}
	}
	slices.SortFunc(used, func(a, b *Shape) int { return cmp.Compare(a.vector.At(k), b.vector.At(k)) })
	n := needs{upto: []Mask{anyway}}
	for _, s := range used {
		if q := s.vector.At(k); len(n.amounts) == 0 || n.amounts[len(n.amounts)-1] != q {
			n.amounts = append(n.amounts, q)
			n.upto = append(n.upto, slices.Clone(n.upto[len(n.upto)-1]))
		}
		n.upto[len(n.upto)-1].put(s.slot, true)
	}
	return n
}

// within takes out of m the shapes that need more than left of kind k.
func (t *slots) within(m Mask, k resources.Kind, left resources.Quantity) {
	n := &t.needs[k]
	i, found := slices.BinarySearch(n.amounts, left)
	if found {
		i++
	}
	m.narrow(n.upto[i])
}

// onNode takes out of m the shapes that accept only another node than id.
func (t *slots) onNode(m Mask, id NodeID) {
	if t.required.empty() {
		return
	}
	for w := range min(len(m), len(t.required)) {
		own := uint64(0)
		for _, slot := range t.at[id] {
			if slot>>6 == w {
				own |= m[w] & (1 << (slot & 63))
			}
		}
		m[w] = m[w]&^t.required[w] | own
	}
}

// all sets m to every slot there is.
func (t *slots) all(m *Mask) {
	for w := range *m {
		(*m)[w] = ^uint64(0)
	}
	for len(*m) < (len(t.shapes)+63)/64 {
		*m = append(*m, ^uint64(0))
	}
}
