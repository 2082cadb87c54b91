package objects

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// slots numbers the shapes of a partition, so that a set of shapes is a mask. A question
// such as "which shapes fit into what is left here?" is then answered for all shapes at
// once: per resource one search among the amounts that shapes ask for, and an
// intersection (architecture.md 9.2).
//
// The table is bounded. Shapes that find it full share the slot of a band: of the sizes
// that are about the same. What a mask says of a band holds for the smallest that could be
// in it, so it may promise too much and never too little.
type slots struct {
	most     int               // how many shapes may have a slot of their own, and how many bands there may be
	exact    int               // how many have one
	crowded  bool              // the table was full, and is not yet half empty
	bands    map[string]*Shape // in use, by what their smallest takes
	any      *Shape            // the band of those that find no room even among the bands; it takes nothing
	shapes   []*Shape          // shapes and bands, by slot; nil: free
	free     []int             // slots that had a shape
	starting Mask              // the slots of shapes in applications that have not started
	gated    Mask              // those, and of shapes in applications that have asked again
	required Mask              // the slots of shapes that accept only one node
	pinned   Mask              // those, and the slots of bands of them
	at       map[NodeID][]int  // and those that accept only this one
	needs    []needs           // by kind; behind by the kinds that are new, until settled
	gone     int               // shapes that left since needs were built
	adrift   int               // shapes that accept only one node and share the slot of any
}

// DefaultShapes is how many shapes a partition can tell apart at once, if it is not told
// otherwise. A production trace of 8,152 tasks has 151.
const DefaultShapes = 512

func newSlots(most int) slots {
	any := &Shape{}
	any.only.put(any.slot, true)
	return slots{most: most, any: any, shapes: []*Shape{any}, bands: map[string]*Shape{}, at: map[NodeID][]int{}}
}

// take gives s a slot, of its own or that of a band. It returns what is new in the table,
// s or its band; nil: nothing.
func (t *slots) take(s *Shape) (fresh *Shape) {
	if !t.crowded && t.exact < t.most {
		t.exact++
		t.enter(s)
		return s
	}
	t.crowded = true // else a stream of shapes that come and go would be decided everywhere, one by one
	key, lowest := band(s)
	b := t.bands[key]
	switch {
	case b == nil && len(t.bands) < t.most:
		b = &Shape{vector: lowest, gate: s.gate, pinned: s.required != ""}
		t.bands[key], fresh = b, b
		t.enter(b)
	case b == nil:
		b = t.any
	}
	b.users++
	t.adrift += count(b == t.any && s.required != "")
	s.band, s.slot, s.only = b, b.slot, b.only
	return fresh
}

// giveBack frees the slot of s, which nobody has any more. Masks keep the bit, which means
// nothing until somebody takes the slot, and then it is decided anew everywhere.
func (t *slots) giveBack(s *Shape) {
	if s.band == nil {
		t.exact--
		t.crowded = t.crowded && t.exact > t.most/2
		t.leave(s)
		return
	}
	t.adrift -= count(s.band == t.any && s.required != "")
	if s.band.users--; s.band.users == 0 && s.band != t.any {
		key, _ := band(s)
		delete(t.bands, key)
		t.leave(s.band)
	}
}

func (t *slots) enter(s *Shape) {
	if end := len(t.free) - 1; end >= 0 {
		s.slot, t.free = t.free[end], t.free[:end]
	} else {
		s.slot = len(t.shapes)
		t.shapes = append(t.shapes, nil)
	}
	t.shapes[s.slot], s.only = s, nil
	s.only.put(s.slot, true)
	t.starting.put(s.slot, s.gate == startGate)
	t.gated.put(s.slot, s.gate != open)
	t.pinned.put(s.slot, s.required != "" || s.pinned)
	if t.required.put(s.slot, s.required != ""); s.required != "" {
		t.at[s.required] = append(t.at[s.required], s.slot)
	}
	for k := range t.needs {
		t.needs[k].add(s.slot, s.vector.At(resources.Kind(k)))
	}
}

func (t *slots) leave(s *Shape) {
	t.shapes[s.slot] = nil
	t.free = append(t.free, s.slot)
	t.starting.put(s.slot, false)
	t.gated.put(s.slot, false)
	t.pinned.put(s.slot, false)
	if s.required != "" {
		t.forgetRequired(s)
	}
	if t.gone++; t.gone > len(t.shapes)+64 { // their amounts are still listed
		t.gone, t.needs = 0, t.needs[:0]
	}
}

// band names the band of s, and is the smallest there can be in it: quantities are
// rounded down to three binary digits.
func band(s *Shape) (key string, lowest resources.Vector) {
	lowest = make(resources.Vector, len(s.vector))
	name := make([]byte, 0, 16)
	if s.gate != open {
		name = append(name, '+', byte(s.gate))
	}
	if s.required != "" {
		name = append(name, '!')
	}
	name = binary.AppendUvarint(name, uint64(len(s.vector)))
	for k, q := range s.vector {
		if q > 0 {
			drop := max(bits.Len64(uint64(q))-3, 0)
			lowest[k] = q >> drop << drop
		}
		name = binary.AppendVarint(name, int64(lowest[k]))
	}
	return string(name), lowest
}

func (t *slots) forgetRequired(s *Shape) {
	t.required.put(s.slot, false)
	left := slices.DeleteFunc(t.at[s.required], func(slot int) bool { return slot == s.slot })
	if t.at[s.required] = left; len(left) == 0 {
		delete(t.at, s.required)
	}
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

// onUnschedulable takes out of m the shapes that a node takes only while it is schedulable.
func (t *slots) onUnschedulable(m Mask) { m.narrow(t.pinned) }

// all sets m to every slot there is.
func (t *slots) all(m *Mask) {
	for w := range *m {
		(*m)[w] = ^uint64(0)
	}
	for len(*m) < (len(t.shapes)+63)/64 {
		*m = append(*m, ^uint64(0))
	}
}
