package objects

import (
	"iter"
	"slices"
)

// index keeps entries in order and finds the first entry with a slot of a mask without a look at
// the entries before. It is a B+ tree; each block has the union of the masks below it, so the first
// block that intersects the mask has the first entry that does. Moving an entry and finding the
// first take logarithmic time.
//
// The items own keys and masks. After a change of either, and before another entry of the same
// index changes, the entry must be reindexed.
type index[T any] struct {
	compare func(a, b T) int // total order: never 0 for two different items
	root    *block[T]        // nil before the first entry; an empty block after the last
	n       int              // number of entries
}

// entry is the place of an item in an index. It is a field of the item.
type entry[T any] struct {
	item  T         // the item that has the entry
	mask  Mask      // the shapes that can be placed there
	block *block[T] // nil: not indexed
}

// indexed reports whether e is in the index.
func (e *entry[T]) indexed() bool { return e.block != nil }

// first is the first item, in order, whose mask intersects f.
func (x *index[T]) first(f Mask) (found T, ok bool) {
	b := x.root
	if b == nil || !b.mask.intersects(f) {
		return found, false
	}
	for !b.isLeaf() {
		b = b.children[b.firstRow(f)] // the union has a slot of f, so there is one
	}
	return b.entries[b.firstRow(f)].item, true
}

// lowest is the first item, whatever its mask; the zero value: there is none.
func (x *index[T]) lowest() (item T) {
	for b := x.root; b != nil; b = b.children[0] {
		if !b.isLeaf() {
			continue
		}
		if len(b.entries) > 0 {
			item = b.entries[0].item
		}
		break
	}
	return item
}

// union is the union of all masks. Read-only.
func (x *index[T]) union() Mask {
	if x.root == nil {
		return nil
	}
	return x.root.mask
}

// members yields all entries in order.
func (x *index[T]) members(yield func(*entry[T]) bool) { x.root.each(yield) }

// eachWithSlot yields the entries whose masks have slot, in order.
func (x *index[T]) eachWithSlot(slot int) func(yield func(*entry[T]) bool) {
	return func(yield func(*entry[T]) bool) { x.root.eachWithSlot(slot, yield) }
}

// eachIntersecting yields the items whose masks intersect f, in order.
func (x *index[T]) eachIntersecting(f Mask) iter.Seq[T] {
	return func(yield func(T) bool) { x.root.eachIntersecting(f, yield) }
}

// reindex inserts, moves or removes m, so that it is indexed if member and at its position.
func (x *index[T]) reindex(m *entry[T], member bool) {
	switch {
	case member && m.indexed():
		x.reposition(m)
	case member:
		x.insert(m)
	case m.indexed():
		x.remove(m)
	}
}

// reposition moves m to its position. Within a block no other block changes, except for masks.
func (x *index[T]) reposition(m *entry[T]) {
	b := m.block
	i := position(b.entries, m)
	j, sameBlock := x.positionIn(b, i)
	if !sameBlock {
		x.remove(m)
		x.insert(m)
		return
	}
	changed := b.setRow(i, m.mask)
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
func (x *index[T]) positionIn(b *block[T], i int) (j int, sameBlock bool) {
	m, n := b.entries[i].item, len(b.entries)
	switch {
	case i > 0 && x.compare(m, b.entries[i-1].item) < 0:
		j = x.search(b.entries[:i-1], m)
	case i < n-1 && x.compare(b.entries[i+1].item, m) < 0:
		j = i + 1 + x.search(b.entries[i+2:], m)
	default:
		j = i
	}
	return j, (j > 0 || b.isEdge(false)) && (j < n-1 || b.isEdge(true))
}

// search is how many entries of list are before item.
func (x *index[T]) search(list []*entry[T], item T) int {
	low, high := 0, len(list)
	for low < high {
		if mid := (low + high) / 2; x.compare(list[mid].item, item) < 0 {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

func (x *index[T]) insert(m *entry[T]) {
	if x.root == nil {
		x.root = newLeafBlock[T](nil)
	}
	b := x.root
	for !b.isLeaf() {
		low, high := 0, len(b.children)-1
		for low < high {
			if mid := (low + high) / 2; x.compare(b.children[mid].last(), m.item) < 0 {
				low = mid + 1
			} else {
				high = mid
			}
		}
		b = b.children[low]
	}
	at := x.search(b.entries, m.item)
	if at < len(b.entries) && x.compare(m.item, b.entries[at].item) == 0 {
		panic("objects: two items of an index compare equal")
	}
	b.entries = slices.Insert(b.entries, at, m)
	b.insertRow(at, m.mask)
	m.block = b
	x.n++
	b.propagateMask()
	x.split(b)
}

func (x *index[T]) remove(m *entry[T]) {
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
func (x *index[T]) split(b *block[T]) {
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

// rebuild sorts all entries again, after keys or the order changed.
func (x *index[T]) rebuild() {
	all := make([]*entry[T], 0, x.n)
	for m := range x.members {
		all = append(all, m)
	}
	x.fill(all)
}

// fill replaces the entries by all, which may be in any order and have duplicates.
func (x *index[T]) fill(all []*entry[T]) {
	slices.SortFunc(all, func(a, b *entry[T]) int { return x.compare(a.item, b.item) })
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
	panic("objects: an entry is not in its block")
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
