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
		b = b.below[b.firstRow(f)] // the union says that there is one
	}
	return b.list[b.firstRow(f)].who, true
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

// meeting yields the members whose masks meet f, in order.
func (x *index[T]) meeting(f Mask) iter.Seq[T] {
	return func(yield func(T) bool) { x.root.meeting(f, yield) }
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

// moved puts m in its place. As long as that is in the same block, nobody else is touched.
func (x *index[T]) moved(m *entry[T]) {
	b := m.at
	i := position(b.list, m)
	j, stays := x.placeIn(b, i)
	if !stays {
		x.takeOut(m)
		x.putIn(m)
		return
	}
	changed := b.setRow(i, m.can)
	if i != j {
		slide(b.list, i, j)
		b.slideRow(i, j)
	}
	if changed {
		b.unite()
	}
}

// placeIn is where member i of b belongs among the others of b. stays is false when it
// may belong into another block.
func (x *index[T]) placeIn(b *block[T], i int) (j int, stays bool) {
	m, n := b.list[i].who, len(b.list)
	switch {
	case i > 0 && x.compare(m, b.list[i-1].who) < 0:
		j = x.search(b.list[:i-1], m)
	case i < n-1 && x.compare(b.list[i+1].who, m) < 0:
		j = i + 1 + x.search(b.list[i+2:], m)
	default:
		j = i
	}
	return j, (j > 0 || b.atEdge(false)) && (j < n-1 || b.atEdge(true))
}

// search is how many of list are before who.
func (x *index[T]) search(list []*entry[T], who T) int {
	low, high := 0, len(list)
	for low < high {
		if mid := (low + high) / 2; x.compare(list[mid].who, who) < 0 {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

func (x *index[T]) putIn(m *entry[T]) {
	if x.root == nil {
		x.root = newLeaf[T](nil)
	}
	b := x.root
	for !b.leaf() {
		low, high := 0, len(b.below)-1
		for low < high {
			if mid := (low + high) / 2; x.compare(b.below[mid].last(), m.who) < 0 {
				low = mid + 1
			} else {
				high = mid
			}
		}
		b = b.below[low]
	}
	at := x.search(b.list, m.who)
	if at < len(b.list) && x.compare(m.who, b.list[at].who) == 0 {
		panic("objects: two members of an index are the same")
	}
	b.list = slices.Insert(b.list, at, m)
	b.putRow(at, m.can)
	m.at = b
	x.n++
	b.unite()
	x.split(b)
}

func (x *index[T]) takeOut(m *entry[T]) {
	b := m.at
	m.at = nil
	x.n--
	i := position(b.list, m)
	b.list = slices.Delete(b.list, i, i+1)
	b.cutRow(i)
	for b.size() == 0 && b.above != nil { // no empty blocks, but for the last
		i := position(b.above.below, b)
		b.above.below = slices.Delete(b.above.below, i, i+1)
		b.above.cutRow(i)
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
	for ; b != nil && b.size() > blockSize; b = b.above {
		if b.above == nil {
			x.root = newAbove([]*block[T]{b})
			x.root.refresh()
		}
		right := b.halve()
		i := position(b.above.below, b)
		b.above.setRow(i, b.can)
		b.above.below = slices.Insert(b.above.below, i+1, right)
		b.above.putRow(i+1, right.can)
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
	slices.SortFunc(all, func(a, b *entry[T]) int { return x.compare(a.who, b.who) })
	all = slices.Compact(all)
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

// slide takes what is at i out of list and puts it where it is at j then.
func slide[E any](list []E, i, j int) {
	moving := list[i]
	if i < j {
		copy(list[i:j], list[i+1:j+1])
	} else {
		copy(list[j+1:i+1], list[j:i])
	}
	list[j] = moving
}
