package objects

import (
	"slices"
	"sort"
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
	who T         // what it is part of
	can Mask      // the shapes it can place
	at  *block[T] // where it is; nil: it is not a member
}

// in reports whether e is a member.
func (e *entry[T]) in() bool { return e.at != nil }

// first is the first member, in order, whose mask meets f.
func (x *index[T]) first(f Mask) (found T, ok bool) {
	b := x.root
	if b == nil || !b.can.meets(f) {
		return found, false
	}
	for !b.leaf() {
		i := 0
		for !b.below[i].can.meets(f) {
			i++ // the union says that there is one
		}
		b = b.below[i]
	}
	for _, m := range b.list {
		if m.can.meets(f) {
			return m.who, true
		}
	}
	panic("objects: a block promises what no member has")
}

// lowest is the first member, whatever it can place; the zero value if there is none.
func (x *index[T]) lowest() (who T) {
	for b := x.root; b != nil; b = b.below[0] {
		if !b.leaf() {
			continue
		}
		if len(b.list) > 0 {
			who = b.list[0].who
		}
		break
	}
	return who
}

// all is the union of all masks. Read-only.
func (x *index[T]) all() Mask {
	if x.root == nil {
		return nil
	}
	return x.root.can
}

// members yields all members in order.
func (x *index[T]) members(yield func(*entry[T]) bool) { x.root.each(yield) }

// having yields the members whose masks have slot, in order.
func (x *index[T]) having(slot int) func(yield func(*entry[T]) bool) {
	return func(yield func(*entry[T]) bool) { x.root.having(slot, yield) }
}

// stand puts m where it belongs now, as a member or not.
func (x *index[T]) stand(m *entry[T], member bool) {
	switch {
	case member && m.in():
		x.moved(m)
	case member:
		x.putIn(m)
	case m.in():
		x.takeOut(m)
	}
}

// moved puts m in its place. As long as its neighbours in its block are still on either
// side of it, nothing moves.
func (x *index[T]) moved(m *entry[T]) {
	list := m.at.list
	i := position(list, m)
	if i > 0 && i < len(list)-1 &&
		x.compare(list[i-1].who, m.who) < 0 && x.compare(m.who, list[i+1].who) < 0 {
		m.at.unite()
		return
	}
	x.takeOut(m)
	x.putIn(m)
}

func (x *index[T]) putIn(m *entry[T]) {
	if x.root == nil {
		x.root = &block[T]{}
	}
	b := x.root
	for !b.leaf() {
		i := sort.Search(len(b.below)-1, func(i int) bool { return x.compare(m.who, b.below[i].last()) < 0 })
		b = b.below[i]
	}
	at, found := slices.BinarySearchFunc(b.list, m, func(a, b *entry[T]) int { return x.compare(a.who, b.who) })
	if found {
		panic("objects: two members of an index are the same")
	}
	b.list = slices.Insert(b.list, at, m)
	m.at = b
	x.n++
	for up := b; up != nil; up = up.above {
		up.can.join(m.can)
	}
	x.split(b)
}

func (x *index[T]) takeOut(m *entry[T]) {
	b := m.at
	m.at = nil
	x.n--
	i := position(b.list, m)
	b.list = slices.Delete(b.list, i, i+1)
	for len(b.list)+len(b.below) == 0 && b.above != nil { // no empty blocks, but for the last
		i := position(b.above.below, b)
		b.above.below = slices.Delete(b.above.below, i, i+1)
		b = b.above
	}
	b.unite()
	for len(x.root.below) == 1 { // no level for a single block
		x.root = x.root.below[0]
		x.root.above = nil
	}
}

// split divides b if it is too large, and then the blocks above it.
func (x *index[T]) split(b *block[T]) {
	for ; b != nil && max(len(b.list), len(b.below)) > blockSize; b = b.above {
		if b.above == nil {
			x.root = &block[T]{below: []*block[T]{b}}
			x.root.can.copyFrom(b.can)
			b.above = x.root
		}
		right := b.halve()
		i := position(b.above.below, b)
		b.above.below = slices.Insert(b.above.below, i+1, right)
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

// fill makes members of all, in any order, and of nobody else.
func (x *index[T]) fill(all []*entry[T]) {
	slices.SortFunc(all, func(a, b *entry[T]) int { return x.compare(a.who, b.who) })
	x.root, x.n = nil, len(all)
	var level []*block[T]
	for part := range slices.Chunk(all, blockFill) {
		level = append(level, newLeaf(part))
	}
	for len(level) > 1 {
		var above []*block[T]
		for part := range slices.Chunk(level, blockFill) {
			above = append(above, newAbove(part))
		}
		level = above
	}
	if len(level) == 1 {
		x.root = level[0]
		x.root.reunite()
	}
}

func position[E comparable](list []E, x E) int {
	if i := slices.Index(list, x); i >= 0 {
		return i
	}
	panic("objects: a member is not where it should be")
}
