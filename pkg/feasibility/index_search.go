package feasibility

// search looks for the position of an item in a tree. Abbreviated keys decide where they differ; only where they are
// equal are the items compared.
type search[T any] struct {
	item  T
	key   uint64 // the abbreviated key of item
	order *Order[T]
}

// sought returns the search for the position of an item.
func (x *Index[T]) sought(item T) search[T] {
	return search[T]{item, x.Order.abbreviated(item), x.Order}
}

// compare orders the item and slot i of leaf block b.
func (s *search[T]) compare(b *block[T], i int) int {
	t := &b.slots[i]
	if s.key != t.key {
		if s.key < t.key {
			return -1
		}
		return 1
	}
	return s.order.Compare(s.item, t.item)
}

// positionIn returns the position of the item of slot i of b among the other slots of b. sameBlock is false if the
// position may be in another block.
func (s *search[T]) positionIn(b *block[T], i int) (j int, sameBlock bool) {
	n := len(b.slots)
	switch {
	case i > 0 && s.compare(b, i-1) < 0:
		j = s.between(b, 0, i-1)
	case i == n-1 || s.compare(b, i+1) < 0:
		j = i
	case s.compare(b, n-1) > 0: // frequent after a placement: the least used node becomes more used than many
		j = n - 1
	default:
		j = s.between(b, i+2, n-1) - 1
	}
	return j, (j > 0 || b.isEdge(false)) && (j < n-1 || b.isEdge(true))
}

// between returns the first slot from low on, and before high, that is not before the item; high: there is none.
func (s *search[T]) between(b *block[T], low, high int) int {
	for low < high {
		if mid := (low + high) / 2; s.compare(b, mid) > 0 {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// child returns the child of b that the item belongs to: the first whose last entry is not before it, or the last.
func (s *search[T]) child(b *block[T]) int {
	low, high := 0, len(b.slots)-1
	for low < high {
		mid := (low + high) / 2
		key := b.slots[mid].key
		if s.key > key || s.key == key && s.order.Compare(s.item, b.children[mid].lastItem()) > 0 {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}
