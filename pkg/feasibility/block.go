package feasibility

import "slices"

// blockSize bounds the slots of a block of an index. blockFill is the number of slots that a block gets when an index
// is built at once. A block has one slot more before it is halved: it then takes 896 bytes, a size class of the
// allocator.
const (
	blockSize = 36
	blockFill = 30
)

// block is a node of the tree of an index, a B+ tree: its slots are entries, or further blocks.
type block[T any] struct {
	parent   *block[T]   // nil: the root
	slots    []slot[T]   // in order; none is empty but those of a new block
	children []*block[T] // the blocks of slots; none: the slots are entries
	spare    *block[T]   // of the root: the last leaf that became empty, for the next that is halved; nil: none
	last     uint64      // the abbreviated key of the last entry below
	union    Mask        // the union of the masks below
	oneWord  [1]uint64   // storage of union, while masks have no other word

	// wide holds the words of the masks that do not fit into slots: those after the first, as many for each slot as union
	// has.
	wide []uint64
}

// newLeafBlock returns a block without slots, with space for n.
func newLeafBlock[T any](n int) *block[T] {
	b := &block[T]{slots: make([]slot[T], 0, n)}
	b.union = b.oneWord[:]
	return b
}

// newParentBlock returns a block of other blocks, whose summaries are up to date.
func newParentBlock[T any](below []*block[T]) *block[T] {
	b := newLeafBlock[T](blockSize + 1)
	b.children = append(make([]*block[T], 0, blockSize+1), below...)
	for i, c := range b.children {
		c.parent = b
		b.insertSlot(i, slot[T]{key: c.last}, c.union)
	}
	b.refreshSummary(allWords)
	return b
}

func (b *block[T]) isLeaf() bool { return len(b.children) == 0 }

// lastItem returns the last item below b.
func (b *block[T]) lastItem() T {
	for !b.isLeaf() {
		b = b.children[len(b.children)-1]
	}
	return b.slots[len(b.slots)-1].item
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

// halve moves the latter half of b to right, a block without slots, which has no place in a parent yet.
func (b *block[T]) halve(o *Order[T], right *block[T]) *block[T] {
	half := len(b.slots) / 2
	right.parent, right.slots = b.parent, append(right.slots, b.slots[half:]...)
	clear(b.slots[half:])
	b.slots = b.slots[:half]
	if b.isLeaf() {
		for i := range right.slots {
			o.Entry(right.slots[i].item).block = right
		}
	} else {
		right.children = append(make([]*block[T], 0, blockSize+1), b.children[half:]...)
		clear(b.children[half:])
		b.children = b.children[:half]
		for _, c := range right.children {
			c.parent = right
		}
	}
	if b.width() > 0 {
		right.widen(b.width())
		right.wide = append(right.wide[:0], b.wide[half*b.width():]...)
		b.wide = b.wide[:half*b.width()]
	}
	right.refreshSummary(allWords)
	b.refreshSummary(allWords)
	return right
}

// propagate updates the summaries from b upwards, as far as they change. words says which words of masks in b may have
// changed.
func (b *block[T]) propagate(words wordSet) {
	for b.refreshSummary(words) && b.parent != nil {
		words = b.parent.setSlot(slices.Index(b.parent.children, b), b.last, b.union)
		b = b.parent
	}
}

// propagateInsertion is propagate after the insertion of slot i, whose mask is m.
func (b *block[T]) propagateInsertion(i int, m Mask) {
	var added wordSet
	for k, word := range m {
		if word&^b.union[k] != 0 {
			added.add(k)
		}
	}
	if added != 0 || i == len(b.slots)-1 {
		b.propagate(added)
	}
}

func (b *block[T]) each(yield func(T) bool) bool {
	for i := range b.slots {
		if b.isLeaf() {
			if !yield(b.slots[i].item) {
				return false
			}
		} else if !b.children[i].each(yield) {
			return false
		}
	}
	return true
}

func (b *block[T]) eachWithSlot(slot int, yield func(T) bool) bool {
	if !b.union.Has(slot) {
		return true
	}
	for i := range b.slots {
		switch {
		case !b.has(i, slot):
		case b.isLeaf():
			if !yield(b.slots[i].item) {
				return false
			}
		case !b.children[i].eachWithSlot(slot, yield):
			return false
		}
	}
	return true
}

func (b *block[T]) eachIntersecting(f Mask, yield func(T) bool) bool {
	first, end := b.union.commonWords(f)
	if first == end {
		return true
	}
	for i := b.nextSlot(0, f, first, end); i < len(b.slots); i = b.nextSlot(i+1, f, first, end) {
		if b.isLeaf() {
			if !yield(b.slots[i].item) {
				return false
			}
		} else if !b.children[i].eachIntersecting(f, yield) {
			return false
		}
	}
	return true
}
