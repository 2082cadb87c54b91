package objects

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// slots assigns slots to shapes, so that a set of shapes is a mask. Which shapes fit into free
// resources is then computed for all shapes at once: for each resource a binary search among the
// requested quantities and an intersection (ORD-11).
//
// The table is bounded. Further shapes share the slot of a bucket of about the same size. A mask
// has the slot of a bucket if the smallest possible shape of it fits, so it may have too many
// shapes and never too few (ORD-10).
type slots struct {
	maxExact           int                // maximum number of shapes with a slot of their own, and of buckets
	exactCount         int                // number of shapes with a slot of their own
	tableFull          bool               // no slot is assigned to a single shape until the table is half empty
	buckets            map[string]*Shape  // in use, by bucketOf
	catchAll           *Shape             // bucket of the shapes beyond maxExact buckets; it requests nothing
	shapes             []*Shape           // shapes and buckets, by slot; nil: free
	free               []int              // released slots
	maxAppsQueueSlots  Mask               // slots of shapes that need a max applications check of queues and limits
	maxAppsSlots       Mask               // slots of shapes that need a max applications check
	requiredNodeSlots  Mask               // slots of shapes that require one node
	pinnedSlots        Mask               // those, and slots of buckets of such shapes
	byRequiredNode     map[NodeID][]int   // slots of shapes that require this node
	requests           []resourceRequests // by resource index; addResources adds those of new indexes
	removedShapes      int                // shapes removed since requests were built
	requiredInCatchAll int                // number of shapes in catchAll that require one node
}

// DefaultShapes is the default of Options.Shapes. A production trace of 8,152 tasks has 151 shapes.
const DefaultShapes = 512

func newSlots(maxExact int) slots {
	catchAll := &Shape{}
	catchAll.slotMask.set(catchAll.slot, true)
	return slots{maxExact: maxExact, catchAll: catchAll, shapes: []*Shape{catchAll}, buckets: map[string]*Shape{}, byRequiredNode: map[NodeID][]int{}}
}

// assign gives s a slot of its own or that of a bucket. It returns what has a new slot, s or its
// bucket; nil: nothing has.
func (t *slots) assign(s *Shape) (added *Shape) {
	if !t.tableFull && t.exactCount < t.maxExact {
		t.exactCount++
		t.add(s)
		return s
	}
	t.tableFull = true // otherwise short-lived shapes would each be added to all masks
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

// release frees the slot of s. Masks keep the bit, which has no meaning until the slot is assigned
// again; then it is set in all masks.
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
	if t.removedShapes++; t.removedShapes > len(t.shapes)+64 { // their amounts are still in requests
		t.removedShapes, t.requests = 0, t.requests[:0]
	}
}

// bucketOf is the key of the bucket of s, and its smallest possible vector: quantities are rounded
// down to three binary digits.
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

// dropOtherRequiredNodes removes from m the shapes that require another node than id.
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

// keepPinned removes from m the shapes that fit schedulable nodes only.
func (t *slots) keepPinned(m Mask) { m.intersectWith(t.pinnedSlots) }

// setAll adds all slots to m.
func (t *slots) setAll(m *Mask) {
	for w := range *m {
		(*m)[w] = ^uint64(0)
	}
	for len(*m) < (len(t.shapes)+63)/64 {
		*m = append(*m, ^uint64(0))
	}
}
