package objects

import "fmt"

// blockSize is how many entries a block of an index holds before it is divided, and
// blockFill how many it gets when an index is built at once.
const (
	blockSize = 32
	blockFill = 24
)

// block is a part of an index: members, or further blocks. The masks of what is directly
// below stand in one row after the other, so that looking for one, and uniting them,
// reads memory in a line.
type block[T any] struct {
	above *block[T]   // nil: the root
	below []*block[T] // in order; or
	list  []*entry[T] // in order: one of the two is empty
	rows  []uint64    // the masks of below or list, width words each
	width int         // at least 1
	can   Mask        // their union
}

// small is a block with room for few members. Most applications have few classes and most
// leaves few applications: there everything lies together.
type small[T any] struct {
	block[T]
	members [4]*entry[T]
	masks   [5]uint64
}

func newLeaf[T any](list []*entry[T]) *block[T] {
	s := &small[T]{}
	b := &s.block
	b.width, b.rows, b.can = 1, s.masks[0:0:4], s.masks[4:4:5]
	b.list = append(s.members[:0:4], list...)
	for i, m := range b.list {
		m.at = b
		b.putRow(i, m.can)
	}
	return b
}

func newAbove[T any](below []*block[T]) *block[T] {
	b := &block[T]{width: 1, below: append(make([]*block[T], 0, blockSize+1), below...)}
	for i, c := range b.below {
		c.above = b
		b.putRow(i, c.can)
	}
	return b
}

func (b *block[T]) leaf() bool { return len(b.below) == 0 }

// size is how many members or blocks are directly below b.
func (b *block[T]) size() int { return len(b.list) + len(b.below) }

// last is the last member below b. Requires: there is one.
func (b *block[T]) last() T {
	for !b.leaf() {
		b = b.below[len(b.below)-1]
	}
	return b.list[len(b.list)-1].who
}

// atEdge reports whether nothing is before b in its index, or with after nothing behind it.
func (b *block[T]) atEdge(after bool) bool {
	for ; b.above != nil; b = b.above {
		i := 0
		if after {
			i = len(b.above.below) - 1
		}
		if b.above.below[i] != b {
			return false
		}
	}
	return true
}

// halve moves the latter half of b into a block of its own, which is not yet below
// anything. The union above both stays what it is.
func (b *block[T]) halve() *block[T] {
	var right *block[T]
	half := b.size() / 2
	if b.leaf() {
		right = newLeaf(b.list[half:])
		clear(b.list[half:])
		b.list = b.list[:half]
	} else {
		right = newAbove(b.below[half:])
		clear(b.below[half:])
		b.below = b.below[:half]
	}
	b.rows = b.rows[:half*b.width]
	right.above = b.above
	right.refresh()
	b.refresh()
	return right
}

// refresh brings the union of one block up to date. It reports whether it changed.
func (b *block[T]) refresh() (changed bool) {
	for len(b.can) < b.width {
		b.can = append(b.can, 0)
	}
	for k := range b.can {
		var all uint64
		for at := k; at < len(b.rows); at += b.width {
			all |= b.rows[at]
		}
		changed = changed || all != b.can[k]
		b.can[k] = all
	}
	return changed
}

// unite brings the unions from b upwards up to date, as far as they change.
func (b *block[T]) unite() {
	for b.refresh() && b.above != nil {
		b.above.setRow(position(b.above.below, b), b.can)
		b = b.above
	}
}

// reunite brings all masks from b downwards up to date with those of the members.
func (b *block[T]) reunite() {
	if b == nil {
		return
	}
	for i, m := range b.list {
		b.setRow(i, m.can)
	}
	for i, c := range b.below {
		c.reunite()
		b.setRow(i, c.can)
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
	for at, i := slot>>6, 0; i < b.size(); at, i = at+b.width, i+1 {
		switch {
		case b.rows[at]>>(slot&63)&1 == 0:
		case b.leaf():
			if !yield(b.list[i]) {
				return false
			}
		case !b.below[i].having(slot, yield):
			return false
		}
	}
	return true
}

func (b *block[T]) meeting(f Mask, yield func(T) bool) bool {
	if b == nil || !b.can.meets(f) {
		return true
	}
	for i := range b.size() {
		switch {
		case !b.row(i).meets(f):
		case b.leaf():
			if !yield(b.list[i].who) {
				return false
			}
		case !b.below[i].meeting(f, yield):
			return false
		}
	}
	return true
}

// check reports whether the members of x are in order, where they say they are, and
// whether its blocks say what is below them.
func (x *index[T]) check(what string) error {
	var before *entry[T]
	n := 0
	for m := range x.members {
		if before != nil && x.compare(before.who, m.who) >= 0 {
			return fmt.Errorf("%s: number %d is out of order", what, n)
		}
		before = m
		n++
	}
	if n != x.n || !x.root.sound(nil) {
		return fmt.Errorf("%s: the index disagrees with its members", what)
	}
	return nil
}

func (b *block[T]) sound(above *block[T]) bool {
	if b == nil {
		return true
	}
	var can Mask
	for i, m := range b.list {
		if can.join(m.can); m.at != b || !b.row(i).same(m.can) {
			return false
		}
	}
	for i, c := range b.below {
		if can.join(c.can); !c.sound(b) || !b.row(i).same(c.can) {
			return false
		}
	}
	return b.above == above && can.same(b.can) && len(b.rows) == b.size()*b.width && (above == nil || b.size() > 0)
}
