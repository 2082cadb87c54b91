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
// index changes, the entry must be reindexed.
type Index[T any] struct {
	Compare func(a, b T) int // total order: never 0 for two different items
	root    *block[T]        // nil before the first entry; an empty block after the last
	n       int              // number of entries
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

// RebuildMasks updates the masks of all blocks after masks of entries changed.
func (x *Index[T]) RebuildMasks() { x.root.rebuildMasks() }

// First is the first item, in order, whose mask intersects f.
func (x *Index[T]) First(f Mask) (found T, ok bool) {
	b := x.root
	if b == nil || !b.mask.Intersects(f) {
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
	return x.root.mask
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
		x.insert(m)
	case m.Indexed():
		x.remove(m)
	}
}

// reposition moves m to its position. Within a block no other block changes, except for masks.
func (x *Index[T]) reposition(m *Entry[T]) {
	b := m.block
	i := position(b.entries, m)
	j, sameBlock := x.positionIn(b, i)
	if !sameBlock {
		x.remove(m)
		x.insert(m)
		return
	}
	changed := b.setRow(i, m.Mask)
	if i != j {
		moveElement(b.entries, i, j)
		b.moveRow(i, j)
	}
	if changed {
		b.propagateMask()
	}
}

// positionIn is the position of entry i of b among the others of b. sameBlock is false if the
// position may be in another block.
func (x *Index[T]) positionIn(b *block[T], i int) (j int, sameBlock bool) {
	m, n := b.entries[i].Item, len(b.entries)
	switch {
	case i > 0 && x.Compare(m, b.entries[i-1].Item) < 0:
		j = x.search(b.entries[:i-1], m)
	case i < n-1 && x.Compare(b.entries[i+1].Item, m) < 0:
		j = i + 1 + x.search(b.entries[i+2:], m)
	default:
		j = i
	}
	return j, (j > 0 || b.isEdge(false)) && (j < n-1 || b.isEdge(true))
}

// search is how many entries of list are before item.
func (x *Index[T]) search(list []*Entry[T], item T) int {
	low, high := 0, len(list)
	for low < high {
		if mid := (low + high) / 2; x.Compare(list[mid].Item, item) < 0 {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

func (x *Index[T]) insert(m *Entry[T]) {
	if x.root == nil {
		x.root = newLeafBlock[T](nil)
	}
	b := x.root
	for !b.isLeaf() {
		low, high := 0, len(b.children)-1
		for low < high {
			if mid := (low + high) / 2; x.Compare(b.children[mid].last(), m.Item) < 0 {
				low = mid + 1
			} else {
				high = mid
			}
		}
		b = b.children[low]
	}
	at := x.search(b.entries, m.Item)
	if at < len(b.entries) && x.Compare(m.Item, b.entries[at].Item) == 0 {
		panic("feasibility: two items of an index compare equal")
	}
	b.entries = slices.Insert(b.entries, at, m)
	b.insertRow(at, m.Mask)
	m.block = b
	x.n++
	b.propagateMask()
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
	b.propagateMask()
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
			x.root.refreshMask()
		}
		right := b.halve()
		i := position(b.parent.children, b)
		b.parent.setRow(i, b.mask)
		b.parent.children = slices.Insert(b.parent.children, i+1, right)
		b.parent.insertRow(i+1, right.mask)
	}
}

// Resort sorts all entries again, after keys changed, unless they are in order still.
func (x *Index[T]) Resort() {
	var before *Entry[T]
	for m := range x.Entries {
		if before != nil && x.Compare(before.Item, m.Item) >= 0 {
			x.Rebuild()
			return
		}
		before = m
	}
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
	slices.SortFunc(all, func(a, b *Entry[T]) int { return x.Compare(a.Item, b.Item) })
	all = slices.Compact(all)
	x.root, x.n = nil, len(all)
	var level []*block[T]
	for part := range slices.Chunk(all, blockFill) {
		level = append(level, newLeafBlock(part))
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
		x.root.rebuildMasks()
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
