package feasibility

import "fmt"

// Check reports the first error of x: an entry out of order or in the wrong block, an abbreviated key or a mask
// that is not that of its item, or a block whose summary differs from what is below it.
func (x *Index[T]) Check(name string) error {
	var before *Entry[T]
	n := 0
	for m := range x.Entries {
		if before != nil && x.Order.Compare(before.Item, m.Item) >= 0 {
			return fmt.Errorf("%s: entry %d is out of order", name, n)
		}
		before = m
		n++
	}
	if n != x.n || !x.consistent(x.root, nil) {
		return fmt.Errorf("%s: the blocks of the index are inconsistent with its entries", name)
	}
	return nil
}

func (x *Index[T]) consistent(b, above *block[T]) bool {
	if b == nil {
		return true
	}
	var union Mask
	var last uint64
	for i, m := range b.entries {
		union.UnionWith(m.Mask)
		last = x.Order.abbreviated(m.Item)
		if m.block != b || !b.mask(i).Equal(m.Mask) || b.key(i) != last {
			return false
		}
	}
	for i, c := range b.children {
		union.UnionWith(c.union())
		last = c.summaryKey()
		if !x.consistent(c, b) || !b.mask(i).Equal(c.union()) || b.key(i) != last {
			return false
		}
	}
	return b.parent == above && union.Equal(b.union()) && b.summaryKey() == last &&
		len(b.rows) == (b.size()+1)*b.width && (above == nil || b.size() > 0)
}
