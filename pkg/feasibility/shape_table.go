package feasibility

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/constraints"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Table has the shapes in use and assigns slots to them, so that a set of shapes is a mask. Which shapes
// fit into free resources is then computed for all shapes at once: for each resource a binary search among
// the requested quantities and an intersection (ORD-11).
//
// The table is bounded. Further shapes share the slot of a bucket of about the same size. A mask
// has the slot of a bucket if the smallest possible shape of it fits, so it may have too many
// shapes and never too few (ORD-10).
type Table struct {
	byKey              map[string]*Shape  // by the key of appendShapeKey; without buckets and variants
	key                []byte             // scratch of keyOf
	maxExact           int                // maximum number of shapes with a slot of their own, and of buckets
	exactCount         int                // number of shapes with a slot of their own
	tableFull          bool               // no slot is assigned to a single shape until the table is half empty
	buckets            map[string]*Shape  // in use, by bucketOf
	catchAll           *Shape             // bucket of the shapes beyond maxExact buckets; it requests nothing
	shapes             []*Shape           // shapes and buckets, by slot; nil: free
	free               []int              // released slots
	variantSlots       [Variants]Mask     // slots of each variant; the first is unused
	requiredNodeSlots  Mask               // slots of shapes that require a node
	pinnedSlots        Mask               // as requiredNodeSlots, with the buckets of such shapes
	byRequiredNode     map[string][]int   // slots of shapes that require this node
	requests           []resourceRequests // by resource index; AddResources adds those of new indexes
	removedShapes      int                // shapes removed since requests were built
	requiredInCatchAll int                // number of shapes in catchAll that require one node
}

// DefaultShapes is the number of shapes with slots of their own unless an option says otherwise. A production
// trace of 8,152 tasks has 151 shapes.
const DefaultShapes = 512

// NewTable returns a table without shapes. Beyond maxExact shapes, slots are shared.
func NewTable(maxExact int) *Table {
	catchAll := &Shape{isBucket: true}
	catchAll.slotMask.Set(catchAll.slot, true)
	return &Table{
		maxExact: maxExact, catchAll: catchAll, shapes: []*Shape{catchAll}, byKey: map[string]*Shape{},
		buckets: map[string]*Shape{}, byRequiredNode: map[string][]int{},
	}
}

// Acquire finds or makes the shape of a request, for one more user. If the shape or its bucket got a new slot, added is
// the one with the new slot, and the caller must set that slot in all masks; else nil.
func (t *Table) Acquire(names *resources.NameTable, r Request) (s, added *Shape) {
	key := t.keyOf(r)
	s = t.byKey[string(key)]
	if s == nil {
		s = NewShape(r, names.Hold(r.Amounts, resources.Asks))
		t.byKey[string(key)] = s
		added = t.assign(s)
	}
	s.refs++
	return s, added
}

// Release ends one use of s, which is removed with its last user.
func (t *Table) Release(names *resources.NameTable, s *Shape) {
	s.refs--
	if s.refs == 0 {
		delete(t.byKey, string(t.keyOf(s.request)))
		t.release(s)
		names.Release(s.vector, resources.Asks)
	}
}

// AcquireVariant uses variant v of s once more. added is the same as for Acquire.
func (t *Table) AcquireVariant(s *Shape, v Variant) (added *Shape) {
	if s.variants[v] == nil {
		s.variants[v] = &Shape{request: s.request, vector: s.vector, plain: s.plain, variant: v}
		added = t.assign(s.variants[v])
	}
	s.variants[v].refs++
	return added
}

// ReleaseVariant ends one use of variant v of s.
func (t *Table) ReleaseVariant(s *Shape, v Variant) {
	s.variants[v].refs--
	if s.variants[v].refs == 0 {
		t.release(s.variants[v])
		s.variants[v] = nil
	}
}

// Len returns the number of shapes in use, without variants.
func (t *Table) Len() int { return len(t.byKey) }

// Find returns the shape of a request; nil: none is in use.
func (t *Table) Find(r Request) *Shape {
	return t.byKey[string(t.keyOf(r))]
}

// keyOf returns the key of a request, until the next call.
func (t *Table) keyOf(r Request) []byte {
	key := appendShapeKey(t.key, r)
	t.key = key[:0]
	return key
}

// Shapes yields the shapes in use, without variants, in no order.
func (t *Table) Shapes(yield func(*Shape) bool) {
	for _, s := range t.byKey {
		if !yield(s) {
			return
		}
	}
}

// Slots yields everything that has a slot: shapes, variants and buckets, by slot.
func (t *Table) Slots(yield func(*Shape) bool) {
	for _, s := range t.shapes {
		if s != nil && !yield(s) {
			return
		}
	}
}

// assign gives s a slot of its own or that of a bucket. It returns s or its bucket if that got a new slot, else nil.
func (t *Table) assign(s *Shape) (added *Shape) {
	if !t.tableFull && t.exactCount < t.maxExact {
		t.exactCount++
		t.add(s)
		return s
	}
	t.tableFull = true // else short-lived shapes would each be added to all masks
	key, lowest := bucketOf(s)
	b := t.buckets[key]
	switch {
	case b == nil && len(t.buckets) < t.maxExact:
		b = &Shape{vector: lowest, variant: s.variant, isBucket: true, pinned: s.request.RequiredNode != ""}
		t.buckets[key], added = b, b
		t.add(b)
	case b == nil:
		b = t.catchAll
	}
	b.refs++
	if b == t.catchAll && s.request.RequiredNode != "" {
		t.requiredInCatchAll++
	}
	s.bucket, s.slot, s.slotMask = b, b.slot, b.slotMask
	return added
}

// release frees the slot of s. Masks keep the bit, which has no meaning until the slot is used again; then it is set in
// all masks.
func (t *Table) release(s *Shape) {
	if s.bucket == nil {
		t.exactCount--
		t.tableFull = t.tableFull && t.exactCount > t.maxExact/2
		t.remove(s)
		return
	}
	if s.bucket == t.catchAll && s.request.RequiredNode != "" {
		t.requiredInCatchAll--
	}
	s.bucket.refs--
	if s.bucket.refs == 0 && s.bucket != t.catchAll {
		key, _ := bucketOf(s)
		delete(t.buckets, key)
		t.remove(s.bucket)
	}
}

func (t *Table) add(s *Shape) {
	if end := len(t.free) - 1; end >= 0 {
		s.slot, t.free = t.free[end], t.free[:end]
	} else {
		s.slot = len(t.shapes)
		t.shapes = append(t.shapes, nil)
	}
	t.shapes[s.slot], s.slotMask = s, nil
	s.slotMask.Set(s.slot, true)
	for v := range t.variantSlots {
		t.variantSlots[v].Set(s.slot, v > 0 && Variant(v) == s.variant)
	}
	t.pinnedSlots.Set(s.slot, s.request.RequiredNode != "" || s.pinned)
	t.requiredNodeSlots.Set(s.slot, s.request.RequiredNode != "")
	if s.request.RequiredNode != "" {
		t.byRequiredNode[s.request.RequiredNode] = append(t.byRequiredNode[s.request.RequiredNode], s.slot)
	}
	for k := range t.requests {
		t.requests[k].add(s.slot, s.vector.At(resources.Index(k)))
	}
}

func (t *Table) remove(s *Shape) {
	t.shapes[s.slot] = nil
	t.free = append(t.free, s.slot)
	for v := range t.variantSlots {
		t.variantSlots[v].Set(s.slot, false)
	}
	t.pinnedSlots.Set(s.slot, false)
	if s.request.RequiredNode != "" {
		t.removeRequired(s)
	}
	t.removedShapes++
	if t.removedShapes > len(t.shapes)+64 { // requests still has their amounts
		t.removedShapes, t.requests = 0, t.requests[:0]
	}
}

// bucketOf returns the key of the bucket of s, and the smallest vector of the bucket: quantities are rounded
// down to three binary digits.
func bucketOf(s *Shape) (key string, lowest resources.Vector) {
	lowest = make(resources.Vector, len(s.vector))
	name := make([]byte, 0, 16)
	if s.variant != 0 {
		name = append(name, '+', byte(s.variant))
	}
	if s.request.RequiredNode != "" {
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

func (t *Table) removeRequired(s *Shape) {
	t.requiredNodeSlots.Set(s.slot, false)
	left := slices.DeleteFunc(t.byRequiredNode[s.request.RequiredNode], func(slot int) bool { return slot == s.slot })
	t.byRequiredNode[s.request.RequiredNode] = left
	if len(left) == 0 {
		delete(t.byRequiredNode, s.request.RequiredNode)
	}
}

// DropOtherRequiredNodes removes from m the shapes that require another node than id.
func (t *Table) DropOtherRequiredNodes(m Mask, id string) {
	if t.requiredNodeSlots.Empty() {
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

// DropVariant removes from m the shapes of a variant.
func (t *Table) DropVariant(m Mask, v Variant) { m.Subtract(t.variantSlots[v]) }

// AddCatchAll adds to m the slot of the shapes beyond all buckets if one of them requires a node: no node
// shows whether such a shape fits.
func (t *Table) AddCatchAll(m *Mask) {
	if t.requiredInCatchAll > 0 {
		m.Set(t.catchAll.slot, true)
	}
}

// Rejecting returns the set of the slots of shapes whose constraints do not admit n; nil: there is none.
func (t *Table) Rejecting(n *constraints.Node) (rejected Mask) {
	for s := range t.Slots {
		if !s.Admits(n) {
			rejected.Set(s.slot, true)
		}
	}
	return rejected
}

// KeepPinned removes from m the shapes that fit schedulable nodes only.
func (t *Table) KeepPinned(m Mask) { m.IntersectWith(t.pinnedSlots) }

// KeepRequiredNodes removes from m the slots that no shape with a required node has.
func (t *Table) KeepRequiredNodes(m Mask) {
	catchAll := t.requiredInCatchAll > 0 && m.Has(t.catchAll.slot)
	t.KeepPinned(m)
	if catchAll {
		m.Set(t.catchAll.slot, true)
	}
}

// SetAll adds all slots to m.
func (t *Table) SetAll(m *Mask) {
	for w := range *m {
		(*m)[w] = ^uint64(0)
	}
	for len(*m) < (len(t.shapes)+63)/64 {
		*m = append(*m, ^uint64(0))
	}
}
