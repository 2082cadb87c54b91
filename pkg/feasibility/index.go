package feasibility

import (
	"iter"
	"slices"
)

// Index keeps entries in order and finds the first entry with a slot of a mask without a look at the entries before. A
// few entries are in the index itself; more are in a B+ tree. Each block has the union of the masks below it, so the
// first block that intersects the mask has the first entry that does. Moving an entry and finding the first take
// logarithmic time.
//
// The items own keys and masks. After a change of either, and before another entry of the same index changes, the owner
// must reindex the entry; after changes of many keys it must resort, rebuild or fill the index.
type Index[T any] struct {
	Order *Order[T] // several indexes may share it
	few   few[T]    // the entries, unless there is a root
	root  *block[T] // of the tree; nil: there is none
	n     int       // number of entries
}

// Order is the order of items in an index; it also knows where items have their entries. NewOrder makes it.
type Order[T any] struct {
	Compare func(a, b T) int  // total order: never 0 for two different items
	Entry   func(T) *Entry[T] // the entry of an item in indexes of this order
	// Abbreviate returns an abbreviated key: Abbreviate(a) < Abbreviate(b) only if Compare(a, b) < 0. The index stores it,
	// so that most comparisons read no other item. nil: items have none.
	Abbreviate func(T) uint64

	few  block[T]                          // stands for the block of entries in no block
	find func(among []slot[T], item T) int // the slot that has the item
}

// NewOrder completes o. An index knows nothing of its items but their order, so all indexes share its code. To find an
// item among others is a comparison of pointers; the order has a function of its type for that.
func NewOrder[T comparable](o Order[T]) Order[T] {
	o.find = func(among []slot[T], item T) int {
		for i := range among {
			if among[i].item == item {
				return i
			}
		}
		panic("feasibility: an entry is not in its block")
	}
	return o
}

// abbreviated returns the abbreviated key of an item.
func (o *Order[T]) abbreviated(item T) uint64 {
	if o.Abbreviate == nil {
		return 0
	}
	return o.Abbreviate(item)
}

// Entry is the place of an item in an index. It is a field of the item.
type Entry[T any] struct {
	Mask  Mask      // the shapes that can be placed there
	block *block[T] // nil: not indexed; Order.few: among the few
}

// Indexed reports whether e is in the index.
func (e *Entry[T]) Indexed() bool { return e.block != nil }

// Reset makes e an entry of no index. Requires: its index was filled anew without it.
func (e *Entry[T]) Reset() { e.block = nil }

// Len returns the number of entries.
func (x *Index[T]) Len() int { return x.n }

// RebuildMasks updates the index after masks of entries changed.
func (x *Index[T]) RebuildMasks() {
	if x.root == nil && !x.refreshFew() {
		x.plant()
	}
	x.refreshSlots(x.root)
}

// refreshSlots updates the slots of b and of all blocks below from the entries.
func (x *Index[T]) refreshSlots(b *block[T]) {
	if b == nil {
		return
	}
	for i := range b.slots {
		if b.isLeaf() {
			item := b.slots[i].item
			b.setSlot(i, x.Order.abbreviated(item), x.Order.Entry(item).Mask)
			continue
		}
		x.refreshSlots(b.children[i])
		b.setSlot(i, b.children[i].last, b.children[i].union)
	}
	b.refreshSummary(allWords)
}

// First returns the first item, in order, whose mask intersects f.
func (x *Index[T]) First(f Mask) (found T, ok bool) {
	if x.root == nil {
		return x.firstOfFew(f)
	}
	for b := x.root; ; {
		first, end := b.union.commonWords(f)
		if first == end {
			if b != x.root {
				panic("feasibility: a block has no slot of a mask that the block above has for it")
			}
			return found, false
		}
		i := b.nextSlot(0, f, first, end)
		if b.isLeaf() {
			return b.slots[i].item, true
		}
		b = b.children[i]
	}
}

// Lowest returns the first item, whatever its mask; the zero value if there is none.
func (x *Index[T]) Lowest() (item T) {
	switch b := x.root; {
	case x.n == 0:
		return item
	case b == nil:
		return x.few.slots[0].item
	default:
		for !b.isLeaf() {
			b = b.children[0]
		}
		return b.slots[0].item
	}
}

// Union returns the union of all masks. Read-only.
func (x *Index[T]) Union() Mask {
	if x.root == nil {
		return x.few.union[:]
	}
	return x.root.union
}

// All yields all items in order.
func (x *Index[T]) All(yield func(T) bool) {
	if x.root != nil {
		x.root.each(yield)
		return
	}
	for _, s := range x.few.slots[:x.n] {
		if !yield(s.item) {
			return
		}
	}
}

// EachWithSlot yields the items whose masks have slot, in order.
func (x *Index[T]) EachWithSlot(slot int) iter.Seq[T] {
	return func(yield func(T) bool) {
		switch {
		case x.root != nil:
			x.root.eachWithSlot(slot, yield)
		case slot < wordBits:
			x.eachOfFew(1<<slot, yield)
		}
	}
}

// EachIntersecting yields the items whose masks intersect f, in order.
func (x *Index[T]) EachIntersecting(f Mask) iter.Seq[T] {
	return func(yield func(T) bool) {
		switch {
		case x.root != nil:
			x.root.eachIntersecting(f, yield)
		case len(f) > 0:
			x.eachOfFew(f[0], yield)
		}
	}
}

// Reindex inserts, moves or removes an item, so that it is indexed if member and at its position. It must be
// called after each change of the mask in its entry or of what Compare reads of it.
func (x *Index[T]) Reindex(item T, member bool) {
	m := x.Order.Entry(item)
	if x.root == nil && x.reindexFew(item, m, member) {
		return
	}
	switch {
	case member && m.Indexed():
		x.reposition(item, m)
	case member:
		x.insert(x.sought(item), m)
	case m.Indexed():
		x.remove(item, m)
	}
}

// reposition moves an item to its place. If that is in the same block, no other block changes, except for summaries.
func (x *Index[T]) reposition(item T, m *Entry[T]) {
	b, sought := m.block, x.sought(item)
	i := x.Order.find(b.slots, item)
	j, sameBlock := sought.positionIn(b, i)
	if !sameBlock {
		x.remove(item, m)
		x.insert(sought, m)
		return
	}
	changed := b.setSlot(i, sought.key, m.Mask)
	if i != j {
		b.moveSlot(i, j)
	}
	if last := len(b.slots) - 1; changed != 0 || b.parent != nil && max(i, j) == last {
		b.propagate(changed)
	} else if max(i, j) == last {
		b.last = b.slots[last].key
	}
}

func (x *Index[T]) insert(sought search[T], m *Entry[T]) {
	b := x.root
	for !b.isLeaf() {
		b = b.children[sought.child(b)]
	}
	at := sought.between(b, 0, len(b.slots))
	if at < len(b.slots) && sought.compare(b, at) == 0 {
		panic("feasibility: two items of an index compare equal")
	}
	b.insertSlot(at, slot[T]{item: sought.item, key: sought.key}, m.Mask)
	m.block = b
	x.n++
	b.propagateInsertion(at, m.Mask)
	x.split(b)
}

func (x *Index[T]) remove(item T, m *Entry[T]) {
	b := m.block
	m.block = nil
	x.n--
	if x.n == 0 {
		x.root, x.few.union[0] = nil, 0
		return
	}
	i := x.Order.find(b.slots, item)
	words := b.wordsOf(i)
	b.removeSlot(i)
	if len(b.slots) == 0 {
		x.root.spare = b
	}
	for len(b.slots) == 0 { // remove empty blocks
		i = slices.Index(b.parent.children, b)
		b = b.parent
		words = b.wordsOf(i)
		b.children = slices.Delete(b.children, i, i+1)
		b.removeSlot(i)
	}
	b.propagate(words)
	for len(x.root.children) == 1 { // remove a root with a single child
		child := x.root.children[0]
		child.parent, child.spare = nil, x.root.spare
		x.root = child
	}
}

// split divides b if it is too large, and then the blocks above it.
func (x *Index[T]) split(b *block[T]) {
	for ; b != nil && len(b.slots) > blockSize; b = b.parent {
		if b.parent == nil {
			x.root = newParentBlock([]*block[T]{b})
			x.root.spare, b.spare = b.spare, nil
		}
		right := b.halve(x.Order, x.unusedBlock(b))
		i := slices.Index(b.parent.children, b)
		b.parent.setSlot(i, b.last, b.union)
		b.parent.children = slices.Insert(b.parent.children, i+1, right)
		b.parent.insertSlot(i+1, slot[T]{key: right.last}, right.union)
	}
}

// unusedBlock returns a block without slots for the surplus of b. In many orders items leave blocks at one end and
// enter others at the other end, so it takes the block that became empty last, if that suits b.
func (x *Index[T]) unusedBlock(b *block[T]) *block[T] {
	unused := x.root.spare
	if unused == nil || !b.isLeaf() || unused.width() != b.width() {
		return newLeafBlock[T](blockSize + 1)
	}
	x.root.spare = nil
	return unused
}

// Resort sorts all entries again, after keys changed, unless they are still in order.
func (x *Index[T]) Resort() {
	var before T
	first := true
	for item := range x.All {
		if !first && x.Order.Compare(before, item) >= 0 {
			x.Rebuild()
			return
		}
		before, first = item, false
	}
	x.RebuildMasks()
}

// Rebuild sorts all entries again, after keys or the order changed.
func (x *Index[T]) Rebuild() {
	all := make([]T, 0, x.n)
	for item := range x.All {
		all = append(all, item)
	}
	x.Fill(all)
}

// Fill replaces the items by all, which may be in any order and have duplicates.
func (x *Index[T]) Fill(all []T) {
	slices.SortFunc(all, x.Order.Compare)
	all = slices.CompactFunc(all, func(a, b T) bool { return x.Order.Entry(a) == x.Order.Entry(b) })
	x.few, x.root, x.n = few[T]{}, nil, len(all)
	if len(all) <= maxFew &&
		!slices.ContainsFunc(all, func(item T) bool { return x.Order.Entry(item).Mask.beyondFirstWord() }) {
		for i, item := range all {
			m := x.Order.Entry(item)
			x.few.slots[i], m.block = slot[T]{item, x.Order.abbreviated(item), m.Mask.firstWord()}, &x.Order.few
		}
		x.few.refreshUnion()
		return
	}
	var level []*block[T]
	for part := range slices.Chunk(all, blockFill) {
		b := newLeafBlock[T](blockSize + 1)
		for i, item := range part {
			m := x.Order.Entry(item)
			b.insertSlot(i, slot[T]{item: item, key: x.Order.abbreviated(item)}, m.Mask)
			m.block = b
		}
		b.refreshSummary(allWords)
		level = append(level, b)
	}
	for len(level) > 1 {
		var above []*block[T]
		for part := range slices.Chunk(level, blockFill) {
			above = append(above, newParentBlock(part))
		}
		level = above
	}
	x.root = level[0]
}
