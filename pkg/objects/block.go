package objects

import "fmt"

// blockSize is how many entries a block of an index holds before it is divided, and
// blockFill how many it gets when an index is built at once.
const (
	blockSize = 32
	blockFill = 24
)

// block is a part of an index: members, or further blocks.
type block[T any] struct {
	above *block[T]   // nil: the root
	below []*block[T] // in order; or
	list  []*entry[T] // in order: one of the two is empty
	can   Mask        // the union of the masks below
}

func newLeaf[T any](list []*entry[T]) *block[T] {
	b := &block[T]{list: append(make([]*entry[T], 0, blockSize+1), list...)}
	for _, m := range b.list {
		m.at = b
	}
	return b
}

func newAbove[T any](below []*block[T]) *block[T] {
	b := &block[T]{below: append(make([]*block[T], 0, blockSize+1), below...)}
	for _, c := range b.below {
		c.above = b
	}
	return b
}

func (b *block[T]) leaf() bool { return len(b.below) == 0 }

// last is the last member below b. Requires: there is one.
func (b *block[T]) last() T {
	for !b.leaf() {
		b = b.below[len(b.below)-1]
	}
	return b.list[len(b.list)-1].who
}

// halve moves the latter half of b into a block of its own, which is not yet below
// anything. The union above both stays what it is.
func (b *block[T]) halve() *block[T] {
	var right *block[T]
	if half := len(b.list) / 2; b.leaf() {
		right = newLeaf(b.list[half:])
		clear(b.list[half:])
		b.list = b.list[:half]
	} else {
		half = len(b.below) / 2
		right = newAbove(b.below[half:])
		clear(b.below[half:])
		b.below = b.below[:half]
	}
	right.above = b.above
	right.refresh()
	b.refresh()
	return right
}

// refresh brings the union of one block up to date.
func (b *block[T]) refresh() {
	b.can = b.can[:0]
	for _, m := range b.list {
		b.can.join(m.can)
	}
	for _, c := range b.below {
		b.can.join(c.can)
	}
}

// unite brings the unions from b upwards up to date, as far as they change.
func (b *block[T]) unite() {
	for ; b != nil; b = b.above {
		var room [16]uint64
		before := append(Mask(room[:0]), b.can...)
		b.refresh()
		if b.can.same(before) {
			return
		}
	}
}

// reunite brings all unions from b downwards up to date.
func (b *block[T]) reunite() {
	if b == nil {
		return
	}
	for _, c := range b.below {
		c.reunite()
	}
	b.refresh()
}

func (b *block[T]) each(yield func(*entry[T]) bool) bool {
	if b == nil {
		return true
	}
	for _, c := range b.below {
		if !c.each(yield) {
			return false
		}
	}
	for _, m := range b.list {
		if !yield(m) {
			return false
		}
	}
	return true
}

func (b *block[T]) having(slot int, yield func(*entry[T]) bool) bool {
	if b == nil || !b.can.has(slot) {
		return true
	}
	for _, c := range b.below {
		if !c.having(slot, yield) {
			return false
		}
	}
	for _, m := range b.list {
		if m.can.has(slot) && !yield(m) {
			return false
		}
	}
	return true
}

// check reports whether the members of x are in order, where they say they are, and
// offer what their blocks say.
func (x *index[T]) check(what string) error {
	n := 0
	var last *entry[T]
	for m := range x.members {
		if last != nil && x.compare(last.who, m.who) >= 0 {
			return fmt.Errorf("the %s are out of order", what)
		}
		last = m
		n++
	}
	if n != x.n || !x.root.sound(nil) {
		return fmt.Errorf("the index of the %s is broken", what)
	}
	return nil
}

func (b *block[T]) sound(above *block[T]) bool {
	if b == nil {
		return true
	}
	var can Mask
	for _, m := range b.list {
		if can.join(m.can); m.at != b {
			return false
		}
	}
	for _, c := range b.below {
		if can.join(c.can); !c.sound(b) {
			return false
		}
	}
	return b.above == above && can.same(b.can) && (above == nil || len(b.list)+len(b.below) > 0)
}
