package feasibility

import "fmt"

// Check reports the first error of x: an entry out of order or in the wrong place, an abbreviated key or a mask that
// differs from that of its item, or a block whose summary differs from what is below it.
func (x *Index[T]) Check(name string) error {
	var before T
	n := 0
	for item := range x.All {
		if n > 0 && x.Order.Compare(before, item) >= 0 {
			return fmt.Errorf("%s: entry %d is out of order", name, n)
		}
		before = item
		n++
	}
	if n != x.n || x.root == nil && !x.fewConsistent() || x.root != nil && !x.consistent(x.root, nil) {
		return fmt.Errorf("%s: the index is inconsistent with its entries", name)
	}
	return nil
}

// fewConsistent reports whether an index without a tree has the keys and masks of its entries.
func (x *Index[T]) fewConsistent() bool {
	var union uint64
	for i, s := range x.few.slots {
		if i >= x.n {
			if s.mask|s.key != 0 {
				return false
			}
			continue
		}
		m := x.Order.Entry(s.item)
		if m.block != &x.Order.few || m.Mask.beyondFirstWord() || m.Mask.firstWord() != s.mask ||
			x.Order.abbreviated(s.item) != s.key {
			return false
		}
		union |= s.mask
	}
	return union == x.few.union[0]
}

func (x *Index[T]) consistent(b, above *block[T]) bool {
	var union Mask
	var last uint64
	for i, s := range b.slots {
		var mask Mask
		if b.isLeaf() {
			m := x.Order.Entry(s.item)
			if m.block != b {
				return false
			}
			mask, last = m.Mask, x.Order.abbreviated(s.item)
		} else {
			mask, last = b.children[i].union, b.children[i].last
			if !x.consistent(b.children[i], b) {
				return false
			}
		}
		union.UnionWith(mask)
		if s.key != last || !mask.Equal(append(Mask{s.mask}, b.wideOf(i)...)) {
			return false
		}
	}
	spareIsValid := b.spare == nil || above == nil && len(b.spare.slots) == 0 && len(b.spare.children) == 0
	return spareIsValid && b.parent == above && union.Equal(b.union) && b.last == last && len(b.union) == b.width()+1 &&
		len(b.wide) == len(b.slots)*b.width() && len(b.slots) > 0 && (b.isLeaf() || len(b.children) == len(b.slots))
}
