package objects

import (
	"cmp"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// needs is what shapes ask for of one kind.
type needs struct {
	amounts []resources.Quantity // above zero, ascending, each once
	upto    []Mask               // upto[i]: the shapes that need at most amounts[:i], or none of it
}

// add takes in the shape of slot, which needs q. What an earlier shape of the slot needed
// is forgotten.
func (n *needs) add(slot int, q resources.Quantity) {
	from := 0 // the first of upto that has it
	if q > 0 {
		at, found := slices.BinarySearch(n.amounts, q)
		if !found {
			n.amounts = slices.Insert(n.amounts, at, q)
			n.upto = slices.Insert(n.upto, at+1, slices.Clone(n.upto[at]))
		}
		from = at + 1
	}
	for i := range n.upto {
		n.upto[i].put(slot, i >= from)
	}
}

// settle makes needs for the kinds that are new. kinds is how many there are.
func (t *slots) settle(kinds int) {
	for k := len(t.needs); k < kinds; k++ {
		t.needs = append(t.needs, t.needsOf(resources.Kind(k)))
	}
}

func (t *slots) needsOf(k resources.Kind) needs {
	n := needs{upto: []Mask{nil}}
	known := slices.Clone(t.shapes)
	slices.SortFunc(known, func(a, b *Shape) int { return cmp.Compare(need(a, k), need(b, k)) })
	for _, s := range known {
		if s != nil {
			n.add(s.slot, s.vector.At(k))
		}
	}
	return n
}

func need(s *Shape, k resources.Kind) resources.Quantity {
	if s == nil {
		return 0
	}
	return s.vector.At(k)
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
