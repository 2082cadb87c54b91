package feasibility

import "fmt"

// blockSize is how many entries a block of an index has at most, and blockFill how many when an
// index is built at once.
const (
	blockSize = 32
	blockFill = 24
)

// block is a node of an index, a B+ tree: it has entries, or further blocks. The masks of these are
// one after the other in rows, so that a search and a union read memory sequentially.
type block[T any] struct {
	parent   *block[T]   // nil: the root
	children []*block[T] // in order; or
	entries  []*Entry[T] // in order: one of the two is empty
	rows     []uint64    // the masks of children or entries, width words each
	width    int         // at least 1
	mask     Mask        // the union of rows
}

// smallBlock is a block with storage for few entries: most applications have few ask groups, and
// most leaves few applications.
type smallBlock[T any] struct {
	block[T]
	members [4]*Entry[T]
	masks   [5]uint64
}

func newLeafBlock[T any](list []*Entry[T]) *block[T] {
	s := &smallBlock[T]{}
	b := &s.block
	b.width, b.rows, b.mask = 1, s.masks[0:0:4], s.masks[4:4:5]
	b.entries = append(s.members[:0:4], list...)
	for i, m := range b.entries {
		m.block = b
		b.insertRow(i, m.Mask)
	}
	return b
}

func newParentBlock[T any](below []*block[T]) *block[T] {
	b := &block[T]{width: 1, children: append(make([]*block[T], 0, blockSize+1), below...)}
	for i, c := range b.children {
		c.parent = b
		b.insertRow(i, c.mask)
	}
	return b
}

func (b *block[T]) isLeaf() bool { return len(b.children) == 0 }

// size is the number of entries or blocks directly below b.
func (b *block[T]) size() int { return len(b.entries) + len(b.children) }

// last is the last entry below b. Requires: there is one.
func (b *block[T]) last() T {
	for !b.isLeaf() {
		b = b.children[len(b.children)-1]
	}
	return b.entries[len(b.entries)-1].Item
}

// isEdge reports whether b is the first block of its level or, with after, the last.
func (b *block[T]) isEdge(after bool) bool {
	for ; b.parent != nil; b = b.parent {
		i := 0
		if after {
			i = len(b.parent.children) - 1
		}
		if b.parent.children[i] != b {
			return false
		}
	}
	return true
}

// halve moves the latter half of b to a new block, which has no place in a parent yet. The union of
// both stays the same.
func (b *block[T]) halve() *block[T] {
	var right *block[T]
	half := b.size() / 2
	if b.isLeaf() {
		right = newLeafBlock(b.entries[half:])
		clear(b.entries[half:])
		b.entries = b.entries[:half]
	} else {
		right = newParentBlock(b.children[half:])
		clear(b.children[half:])
		b.children = b.children[:half]
	}
	b.rows = b.rows[:half*b.width]
	right.parent = b.parent
	right.refreshMask()
	b.refreshMask()
	return right
}

// refreshMask updates the union of b. It reports whether the union changed.
func (b *block[T]) refreshMask() (changed bool) {
	for len(b.mask) < b.width {
		b.mask = append(b.mask, 0)
	}
	for k := range b.mask {
		var all uint64
		for at := k; at < len(b.rows); at += b.width {
			all |= b.rows[at]
		}
		changed = changed || all != b.mask[k]
		b.mask[k] = all
	}
	return changed
}

// propagateMask updates the unions from b upwards, as far as they change.
func (b *block[T]) propagateMask() {
	for b.refreshMask() && b.parent != nil {
		b.parent.setRow(position(b.parent.children, b), b.mask)
		b = b.parent
	}
}

// rebuildMasks updates the masks of b and of all blocks below from the entries.
func (b *block[T]) rebuildMasks() {
	if b == nil {
		return
	}
	for i, m := range b.entries {
		b.setRow(i, m.Mask)
	}
	for i, c := range b.children {
		c.rebuildMasks()
		b.setRow(i, c.mask)
	}
	b.refreshMask()
}

func (b *block[T]) each(yield func(*Entry[T]) bool) bool {
	if b == nil {
		return true
	}
	for _, c := range b.children {
		if !c.each(yield) {
			return false
		}
	}
	for _, m := range b.entries {
		if !yield(m) {
			return false
		}
	}
	return true
}

func (b *block[T]) eachWithSlot(slot int, yield func(*Entry[T]) bool) bool {
	if b == nil || !b.mask.Has(slot) {
		return true
	}
	for at, i := slot>>6, 0; i < b.size(); at, i = at+b.width, i+1 {
		switch {
		case b.rows[at]>>(slot&63)&1 == 0:
		case b.isLeaf():
			if !yield(b.entries[i]) {
				return false
			}
		case !b.children[i].eachWithSlot(slot, yield):
			return false
		}
	}
	return true
}

func (b *block[T]) eachIntersecting(f Mask, yield func(T) bool) bool {
	if b == nil || !b.mask.Intersects(f) {
		return true
	}
	for i := range b.size() {
		switch {
		case !b.row(i).Intersects(f):
		case b.isLeaf():
			if !yield(b.entries[i].Item) {
				return false
			}
		case !b.children[i].eachIntersecting(f, yield):
			return false
		}
	}
	return true
}

// Check reports the first error of x: an entry out of order or in the wrong block, or a block whose
// masks differ from those below it.
func (x *Index[T]) Check(name string) error {
	var before *Entry[T]
	n := 0
	for m := range x.Entries {
		if before != nil && x.Compare(before.Item, m.Item) >= 0 {
			return fmt.Errorf("%s: entry %d is out of order", name, n)
		}
		before = m
		n++
	}
	if n != x.n || !x.root.consistent(nil) {
		return fmt.Errorf("%s: the blocks of the index are inconsistent with its entries", name)
	}
	return nil
}

func (b *block[T]) consistent(above *block[T]) bool {
	if b == nil {
		return true
	}
	var union Mask
	for i, m := range b.entries {
		if union.UnionWith(m.Mask); m.block != b || !b.row(i).Equal(m.Mask) {
			return false
		}
	}
	for i, c := range b.children {
		if union.UnionWith(c.mask); !c.consistent(b) || !b.row(i).Equal(c.mask) {
			return false
		}
	}
	return b.parent == above && union.Equal(b.mask) && len(b.rows) == b.size()*b.width && (above == nil || b.size() > 0)
}
