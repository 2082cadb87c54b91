package feasibility

import (
	"iter"
	"slices"
)

// Index keeps entries in order and finds the first entry with a slot of a mask without a look at
// the entries before. It is a B+ tree; each block has the union of the masks below it, so the first
// block that intersects the mask has the first entry that does. Moving an entry and finding the
// first take logarithmic time.
//
// The items own keys and masks. After a change of either, and before another entry of the same
// index changes, the entry must be reindexed; after changes of many keys, the index resorted, rebuilt or filled.
type Index[T any] struct {
	Order *Order[T] // may be that of many indices
	root  *block[T] // nil before the first entry; an empty block after the last
	n     int       // number of entries
}

// Order is the order of items in an index.
type Order[T any] struct {
	Compare func(a, b T) int // total order: never 0 for two different items
	// Abbreviate is an abbreviated key: Abbreviate(a) < Abbreviate(b) only if Compare(a, b) < 0. It is stored in the
	// blocks, so that most comparisons read no other item. Nil: items have none.
	Abbreviate func(T) uint64
}

// abbreviated is the abbreviated key of an item.
func (o *Order[T]) abbreviated(item T) uint64 {
	if o.Abbreviate == nil {
		return 0
	}
	return o.Abbreviate(item)
}

// Entry is the place of an item in an index. It is a field of the item.
type Entry[T any] struct {
	Item  T         // the item that has the entry
	Mask  Mask      // the shapes that can be placed there
	block *block[T] // nil: not indexed
}

// Indexed reports whether e is in the index.
func (e *Entry[T]) Indexed() bool { return e.block != nil }

// Reset makes e an entry of no index. Requires: its index was filled anew without it.
func (e *Entry[T]) Reset() { e.block = nil }

// Len is the number of entries.
func (x *Index[T]) Len() int { return x.n }

// RebuildMasks updates the rows of all blocks after masks of entries changed.
func (x *Index[T]) RebuildMasks() { x.refreshRows(x.root) }

// refreshRows updates the rows of b and of all blocks below from the entries.
func (x *Index[T]) refreshRows(b *block[T]) {
	if b == nil {
		return
	}
	for i, m := range b.entries {
		b.setRow(i, x.Order.abbreviated(m.Item), m.Mask)
	}
	for i, c := range b.children {
		x.refreshRows(c)
		b.setRow(i, c.summaryKey(), c.union())
	}
	b.refreshSummary()
}

// First is the first item, in order, whose mask intersects f.
func (x *Index[T]) First(f Mask) (found T, ok bool) {
	b := x.root
	if b == nil || !b.union().Intersects(f) {
		return found, false
	}
	for !b.isLeaf() {
		b = b.children[b.firstRow(f)] // the union has a slot of f, so there is one
	}
	return b.entries[b.firstRow(f)].Item, true
}

// Lowest is the first item, whatever its mask; the zero value: there is none.
func (x *Index[T]) Lowest() (item T) {
	for b := x.root; b != nil; b = b.children[0] {
		if !b.isLeaf() {
			continue
		}
		if len(b.entries) > 0 {
			item = b.entries[0].Item
		}
		break
	}
	return item
}

// Union is the union of all masks. Read-only.
func (x *Index[T]) Union() Mask {
	if x.root == nil {
		return nil
	}
	return x.root.union()
}

// Entries yields all entries in order.
func (x *Index[T]) Entries(yield func(*Entry[T]) bool) { x.root.each(yield) }

// EachWithSlot yields the entries whose masks have slot, in order.
func (x *Index[T]) EachWithSlot(slot int) func(yield func(*Entry[T]) bool) {
	return func(yield func(*Entry[T]) bool) { x.root.eachWithSlot(slot, yield) }
}

// EachIntersecting yields the items whose masks intersect f, in order.
func (x *Index[T]) EachIntersecting(f Mask) iter.Seq[T] {
	return func(yield func(T) bool) { x.root.eachIntersecting(f, yield) }
}

// Reindex inserts, moves or removes m, so that it is indexed if member and at its position. It must be
// called after each change of the mask of m or of what Compare reads of its item.
func (x *Index[T]) Reindex(m *Entry[T], member bool) {
	switch {
	case member && m.Indexed():
		x.reposition(m)
	case member:
		x.insert(m, x.sought(m))
	case m.Indexed():
		x.remove(m)
	}
}

// reposition moves m to its position. Within a block no other block changes, except for summaries.
func (x *Index[T]) reposition(m *Entry[T]) {
	b, sought := m.block, x.sought(m)
	i := position(b.entries, m)
	j, sameBlock := sought.positionIn(b, i)
	if !sameBlock {
		x.remove(m)
		x.insert(m, sought)
		return
	}
	maskChanged := b.setRow(i, sought.key, m.Mask)
	if i != j {
		moveElement(b.entries, i, j)
		b.moveRow(i, j)
	}
	if maskChanged || b.parent != nil && max(i, j) == len(b.entries)-1 {
		b.propagate()
	} else if max(i, j) == len(b.entries)-1 {
		b.summary()[0] = b.key(len(b.entries) - 1)
	}
}

func (x *Index[T]) insert(m *Entry[T], sought search[T]) {
	if x.root == nil {
		x.root = newLeafBlock[T](nil)
	}
	b := x.root
	for !b.isLeaf() {
		b = b.children[sought.child(b)]
	}
	at := sought.between(b, 0, len(b.entries))
	if at < len(b.entries) && sought.compare(b, at) == 0 {
		panic("feasibility: two items of an index compare equal")
	}
	b.entries = slices.Insert(b.entries, at, m)
	b.insertRow(at, sought.key, m.Mask)
	m.block = b
	x.n++
	b.propagate()
	x.split(b)
}

func (x *Index[T]) remove(m *Entry[T]) {
	b := m.block
	m.block = nil
	x.n--
	i := position(b.entries, m)
	b.entries = slices.Delete(b.entries, i, i+1)
	b.removeRow(i)
	for b.size() == 0 && b.parent != nil { // empty blocks are removed, except the root
		i := position(b.parent.children, b)
		b.parent.children = slices.Delete(b.parent.children, i, i+1)
		b.parent.removeRow(i)
		b = b.parent
	}
	b.propagate()
	for len(x.root.children) == 1 { // a root with a single child is removed
		x.root = x.root.children[0]
		x.root.parent = nil
	}
}

// split divides b if it is too large, and then the blocks above it.
func (x *Index[T]) split(b *block[T]) {
	for ; b != nil && b.size() > blockSize; b = b.parent {
		if b.parent == nil {
			x.root = newParentBlock([]*block[T]{b})
		}
		right := b.halve()
		i := position(b.parent.children, b)
		b.parent.setRow(i, b.summaryKey(), b.union())
		b.parent.children = slices.Insert(b.parent.children, i+1, right)
		b.parent.insertRow(i+1, right.summaryKey(), right.union())
	}
}

// Resort sorts all entries again, after keys changed, unless they are in order still.
func (x *Index[T]) Resort() {
	var before *Entry[T]
	for m := range x.Entries {
		if before != nil && x.Order.Compare(before.Item, m.Item) >= 0 {
			x.Rebuild()
			return
		}
		before = m
	}
	x.refreshRows(x.root)
}

// Rebuild sorts all entries again, after keys or the order changed.
func (x *Index[T]) Rebuild() {
	all := make([]*Entry[T], 0, x.n)
	for m := range x.Entries {
		all = append(all, m)
	}
	x.Fill(all)
}

// Fill replaces the entries by all, which may be in any order and have duplicates.
func (x *Index[T]) Fill(all []*Entry[T]) {
	slices.SortFunc(all, func(a, b *Entry[T]) int { return x.Order.Compare(a.Item, b.Item) })
	all = slices.Compact(all)
	x.root, x.n = nil, len(all)
	var level []*block[T]
	for part := range slices.Chunk(all, blockFill) {
		b := newLeafBlock(part)
		for i, m := range b.entries {
			b.insertRow(i, x.Order.abbreviated(m.Item), m.Mask)
		}
		b.refreshSummary()
		level = append(level, b)
	}
	for len(level) > 1 {
		var above []*block[T]
		for part := range slices.Chunk(level, blockFill) {
			above = append(above, newParentBlock(part))
		}
		level = above
	}
	if len(level) == 1 {
		x.root = level[0]
	}
}

func position[E comparable](list []E, x E) int {
	if i := slices.Index(list, x); i >= 0 {
		return i
	}
	panic("feasibility: an entry is not in its block")
}

// moveElement removes element i and inserts it so that it becomes element j.
func moveElement[E any](list []E, i, j int) {
	moving := list[i]
	if i < j {
		copy(list[i:j], list[i+1:j+1])
	} else {
		copy(list[j+1:i+1], list[j:i])
	}
	list[j] = moving
}
