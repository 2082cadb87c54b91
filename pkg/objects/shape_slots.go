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
	maxExact           int               // how many shapes may have a slot of their own, and how many bands there may be
	exactCount         int               // how many have one
	tableFull          bool              // the table was full, and is not yet half empty
	buckets            map[string]*Shape // in use, by what their smallest takes
	catchAll           *Shape            // the band of those that find no room even among the bands; it takes nothing
	shapes             []*Shape          // shapes and bands, by slot; nil: free
	free               []int             // slots that had a shape
	maxAppsQueueSlots  Mask              // the slots of shapes in applications that have not started
	maxAppsSlots       Mask              // those, and of shapes in applications that have asked again
	requiredNodeSlots  Mask              // the slots of shapes that accept only one node
	pinnedSlots        Mask              // those, and the slots of bands of them
	byRequiredNode     map[NodeID][]int  // and those that accept only this one
	requests           []kindRequests    // by kind; behind by the kinds that are new, until settled
	removedShapes      int               // shapes that left since needs were built
	requiredInCatchAll int               // shapes that accept only one node and share the slot of any
}

// DefaultShapes is how many shapes a partition can tell apart at once, if it is not told
// otherwise. A production trace of 8,152 tasks has 151.
const DefaultShapes = 512

func newSlots(maxExact int) slots {
	catchAll := &Shape{}
	catchAll.slotMask.set(catchAll.slot, true)
	return slots{maxExact: maxExact, catchAll: catchAll, shapes: []*Shape{catchAll}, buckets: map[string]*Shape{}, byRequiredNode: map[NodeID][]int{}}
}

// assign gives s a slot, of its own or that of a band. It returns what is new in the table,
// s or its band; nil: nothing.
func (t *slots) assign(s *Shape) (added *Shape) {
	if !t.tableFull && t.exactCount < t.maxExact {
		t.exactCount++
		t.add(s)
		return s
	}
	t.tableFull = true // else a stream of shapes that come and go would be decided everywhere, one by one
	key, lowest := bucketOf(s)
	b := t.buckets[key]
	switch {
	case b == nil && len(t.buckets) < t.maxExact:
		b = &Shape{vector: lowest, maxAppsCheck: s.maxAppsCheck, pinned: s.required != ""}
		t.buckets[key], added = b, b
		t.add(b)
	case b == nil:
		b = t.catchAll
	}
	b.refs++
	t.requiredInCatchAll += boolToInt(b == t.catchAll && s.required != "")
	s.bucket, s.slot, s.slotMask = b, b.slot, b.slotMask
	return added
}

// release frees the slot of s, which nobody has any more. Masks keep the bit, which means
// nothing until somebody takes the slot, and then it is decided anew everywhere.
func (t *slots) release(s *Shape) {
	if s.bucket == nil {
		t.exactCount--
		t.tableFull = t.tableFull && t.exactCount > t.maxExact/2
		t.remove(s)
		return
	}
	t.requiredInCatchAll -= boolToInt(s.bucket == t.catchAll && s.required != "")
	if s.bucket.refs--; s.bucket.refs == 0 && s.bucket != t.catchAll {
		key, _ := bucketOf(s)
		delete(t.buckets, key)
		t.remove(s.bucket)
	}
}

func (t *slots) add(s *Shape) {
	if end := len(t.free) - 1; end >= 0 {
		s.slot, t.free = t.free[end], t.free[:end]
	} else {
		s.slot = len(t.shapes)
		t.shapes = append(t.shapes, nil)
	}
	t.shapes[s.slot], s.slotMask = s, nil
	s.slotMask.set(s.slot, true)
	t.maxAppsQueueSlots.set(s.slot, s.maxAppsCheck == maxAppsQueuesAndLimits)
	t.maxAppsSlots.set(s.slot, s.maxAppsCheck != maxAppsUnchecked)
	t.pinnedSlots.set(s.slot, s.required != "" || s.pinned)
	if t.requiredNodeSlots.set(s.slot, s.required != ""); s.required != "" {
		t.byRequiredNode[s.required] = append(t.byRequiredNode[s.required], s.slot)
	}
	for k := range t.requests {
		t.requests[k].add(s.slot, s.vector.At(resources.Index(k)))
	}
}

func (t *slots) remove(s *Shape) {
	t.shapes[s.slot] = nil
	t.free = append(t.free, s.slot)
	t.maxAppsQueueSlots.set(s.slot, false)
	t.maxAppsSlots.set(s.slot, false)
	t.pinnedSlots.set(s.slot, false)
	if s.required != "" {
		t.removeRequired(s)
	}
	if t.removedShapes++; t.removedShapes > len(t.shapes)+64 { // their amounts are still listed
		t.removedShapes, t.requests = 0, t.requests[:0]
	}
}

// bucketOf names the band of s, and is the smallest there can be in it: quantities are
// rounded down to three binary digits.
func bucketOf(s *Shape) (key string, lowest resources.Vector) {
	lowest = make(resources.Vector, len(s.vector))
	name := make([]byte, 0, 16)
	if s.maxAppsCheck != maxAppsUnchecked {
		name = append(name, '+', byte(s.maxAppsCheck))
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

func (t *slots) removeRequired(s *Shape) {
	t.requiredNodeSlots.set(s.slot, false)
	left := slices.DeleteFunc(t.byRequiredNode[s.required], func(slot int) bool { return slot == s.slot })
	if t.byRequiredNode[s.required] = left; len(left) == 0 {
		delete(t.byRequiredNode, s.required)
	}
}

// dropOtherRequiredNodes takes out of m the shapes that accept only another node than id.
func (t *slots) dropOtherRequiredNodes(m Mask, id NodeID) {
	if t.requiredNodeSlots.empty() {
		return
	}
	for w := range min(len(m), len(t.requiredNodeSlots)) {
		own := uint64(0)
		for _, slot := range t.byRequiredNode[id] {
			if slot>>6 == w {
				own |= m[w] & (1 << (slot & 63))
			}
		}
		m[w] = m[w]&^t.requiredNodeSlots[w] | own
	}
}

// keepPinned takes out of m the shapes that a node takes only while it is schedulable.
func (t *slots) keepPinned(m Mask) { m.intersectWith(t.pinnedSlots) }

// setAll sets m to every slot there is.
func (t *slots) setAll(m *Mask) {
	for w := range *m {
		(*m)[w] = ^uint64(0)
	}
	for len(*m) < (len(t.shapes)+63)/64 {
		*m = append(*m, ^uint64(0))
	}
}
