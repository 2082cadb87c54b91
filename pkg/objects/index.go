package objects

import (
	"iter"
	"slices"
)

// index keeps members in order and answers "who is the first that can place one of these
// shapes?" without looking at those that cannot. It is a B+ tree; each block carries the
// union of the masks of what is below it. The first block that offers something holds
// the first member that does, so there is never a way back. Moving a member and finding
// the first both cost a logarithm of the number of members.
//
// The keys and the masks are the members' own. After either changed, and before another
// member of the same index is touched, the member has to stand again.
type index[T any] struct {
	compare func(a, b T) int // total: never 0 for two different members
	root    *block[T]        // nil before the first member; an empty one after the last
	n       int              // members
}

// entry is a member of an index. It is part of the thing that is indexed.
type entry[T any] struct {
	item  T         // what it is part of
	mask  Mask      // the shapes it can place
	block *block[T] // where it is; nil: it is not a member
}

// indexed reports whether e is a member.
func (e *entry[T]) indexed() bool { return e.block != nil }

// first is the first member, in order, whose mask meets f.
func (x *index[T]) first(f Mask) (found T, ok bool) {
	b := x.root
	if b == nil || !b.mask.intersects(f) {
		return found, false
	}
	for !b.isLeaf() {
		b = b.children[b.firstRow(f)] // the union says that there is one
	}
	return b.entries[b.firstRow(f)].item, true
}

// lowest is the first member, whatever it can place; the zero value if there is none.
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

// members yields all members in order.
func (x *index[T]) members(yield func(*entry[T]) bool) { x.root.each(yield) }

// eachWithSlot yields the members whose masks have slot, in order.
func (x *index[T]) eachWithSlot(slot int) func(yield func(*entry[T]) bool) {
	return func(yield func(*entry[T]) bool) { x.root.eachWithSlot(slot, yield) }
}

// eachIntersecting yields the members whose masks meet f, in order.
func (x *index[T]) eachIntersecting(f Mask) iter.Seq[T] {
	return func(yield func(T) bool) { x.root.eachIntersecting(f, yield) }
}

// reindex puts m where it belongs now, as a member or not.
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

// reposition puts m in its place. As long as that is in the same block, nobody else is touched.
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

// positionIn is where member i of b belongs among the others of b. stays is false when it
// may belong into another block.
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

// search is how many of list are before who.
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
		panic("objects: two members of an index are the same")
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
	for b.size() == 0 && b.parent != nil { // no empty blocks, but for the last
		i := position(b.parent.children, b)
		b.parent.children = slices.Delete(b.parent.children, i, i+1)
		b.parent.removeRow(i)
		b = b.parent
	}
	b.propagateMask()
	for len(x.root.children) == 1 { // no level for a single block
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

// rebuild orders all members anew, after their keys or the rule of the order changed.
func (x *index[T]) rebuild() {
	all := make([]*entry[T], 0, x.n)
	for m := range x.members {
		all = append(all, m)
	}
	x.fill(all)
}

// fill makes members of all, in any order and perhaps named twice, and of nobody else.
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
	panic("objects: a member is not where it should be")
}

// moveElement takes what is at i out of list and puts it where it is at j then.
func moveElement[E any](list []E, i, j int) {
	moving := list[i]
	if i < j {
		copy(list[i:j], list[i+1:j+1])
	} else {
		copy(list[j+1:i+1], list[j:i])
	}
	list[j] = moving
}
