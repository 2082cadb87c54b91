package feasibility

// blockSize is how many entries a block of an index has at most, and blockFill how many when an
// index is built at once.
const (
	blockSize = 32
	blockFill = 24
)

// block is a node of an index, a B+ tree: it has entries, or further blocks. What a search reads of these is
// in rows, one after the other in memory, so that it reads neither the items nor the blocks below: the
// abbreviated key, and the words of the mask.
type block[T any] struct {
	parent   *block[T]   // nil: the root
	children []*block[T] // in order; or
	entries  []*Entry[T] // in order: one of the two is empty
	// rows has the summary of the block, and then a row for each entry or child. The key of the summary, and so of
	// the row of a child, is that of the last entry below, its mask is the union of all below.
	rows  []uint64
	width int // words of a row: the key and at least one of the mask
}

// smallBlock is a block with storage for few entries: most applications have few ask groups, and
// most leaves few applications.
type smallBlock[T any] struct {
	block[T]
	members [4]*Entry[T]
	words   [2 * 5]uint64
}

// newLeafBlock is a block of list, which becomes its own, without rows.
func newLeafBlock[T any](list []*Entry[T]) *block[T] {
	s := &smallBlock[T]{}
	b := &s.block
	b.width, b.rows = 2, s.words[:2]
	b.entries = append(s.members[:0:4], list...)
	for _, m := range b.entries {
		m.block = b
	}
	return b
}

// newParentBlock is a block of other blocks, whose summaries are up to date.
func newParentBlock[T any](below []*block[T]) *block[T] {
	b := &block[T]{width: 2, rows: make([]uint64, 2), children: append(make([]*block[T], 0, blockSize+1), below...)}
	for i, c := range b.children {
		c.parent = b
		b.insertRow(i, c.summaryKey(), c.union())
	}
	b.refreshSummary()
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

// halve moves the latter half of b to a new block, which has no place in a parent yet.
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
	from := (half + 1) * b.width
	right.width, right.rows = b.width, append(append(right.rows[:0], b.summary()...), b.rows[from:]...)
	b.rows = b.rows[:from]
	right.parent = b.parent
	right.refreshSummary()
	b.refreshSummary()
	return right
}

// propagate updates the summaries from b upwards, as far as they change.
func (b *block[T]) propagate() {
	for b.refreshSummary() && b.parent != nil {
		b.parent.setRow(position(b.parent.children, b), b.summaryKey(), b.union())
		b = b.parent
	}
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
	if b == nil || !b.union().Has(slot) {
		return true
	}
	for at, i := b.width+1+slot>>6, 0; i < b.size(); at, i = at+b.width, i+1 {
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
	if b == nil || !b.union().Intersects(f) {
		return true
	}
	for i := range b.size() {
		switch {
		case !b.mask(i).Intersects(f):
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
