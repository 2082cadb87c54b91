package feasibility

// Few entries are in the index itself, without a block: most queues have few children, most leaves few applications,
// and most applications few ask groups. So a search reads one place in memory for each level of the queue tree.

// maxFew is how many entries an index has without a tree.
const maxFew = 4

// few is the entries of an index without a tree, whose masks have one word.
type few[T comparable] struct {
	union [1]uint64 // of the masks
	slots [maxFew]slot[T]
}

// slot is an entry of an index, or a block of its tree, in the order of the index. What a search reads of entries and
// blocks is in slots, one after the other in memory.
type slot[T comparable] struct {
	item T      // the item; of a block: none
	key  uint64 // the abbreviated key of the item, or of the last item of the block
	mask uint64 // the first word of the mask, or of the union of the masks in the block
}

func (t *few[T]) refreshUnion(n int) {
	all := uint64(0)
	for i := range t.slots[:n] {
		all |= t.slots[i].mask
	}
	t.union[0] = all
}

// firstOfFew is First without a tree.
func (x *Index[T]) firstOfFew(f Mask) (found T, ok bool) {
	if len(f) == 0 {
		return found, false
	}
	for i := range x.few.slots {
		if s := &x.few.slots[i]; s.mask&f[0] != 0 { // that of no entry is empty
			return s.item, true
		}
	}
	return found, false
}

func (x *Index[T]) eachOfFew(mask uint64, yield func(T) bool) {
	for _, s := range x.few.slots {
		if s.mask&mask != 0 && !yield(s.item) {
			return
		}
	}
}

// reindexFew is Reindex without a tree. done is false if the item, whose entry m is, must be indexed in a tree, which
// there is then.
func (x *Index[T]) reindexFew(item T, m *Entry[T], member bool) (done bool) {
	t, indexed := &x.few, m.Indexed()
	switch {
	case !member && !indexed:
		return true
	case member && (m.Mask.beyondFirstWord() || !indexed && x.n == maxFew):
		x.plant()
		return false
	}
	at := x.n // where the item is, or will be
	if indexed {
		for at = 0; t.slots[at].item != item; at++ {
		}
	}
	if !member {
		x.n--
		copy(t.slots[at:], t.slots[at+1:])
		t.slots[x.n], m.block = slot[T]{}, nil
		t.refreshUnion(x.n)
		return true
	}
	if !indexed {
		x.n++
		m.block = &x.Order.few
	}
	s := slot[T]{item, x.Order.abbreviated(item), m.Mask.firstWord()}
	for ; at > 0 && x.before(&s, &t.slots[at-1]); at-- {
		t.slots[at] = t.slots[at-1]
	}
	for ; at < x.n-1 && (indexed && x.before(&t.slots[at+1], &s)); at++ {
		t.slots[at] = t.slots[at+1]
	}
	t.slots[at] = s
	t.refreshUnion(x.n)
	return true
}

// before reports whether the item of s comes before that of t.
func (x *Index[T]) before(s, t *slot[T]) bool {
	if s.key != t.key {
		return s.key < t.key
	}
	c := x.Order.Compare(s.item, t.item)
	if c == 0 {
		panic("feasibility: two items of an index compare equal")
	}
	return c < 0
}

// refreshFew updates the slots from the entries. ok is false if a mask has more than one word.
func (x *Index[T]) refreshFew() (ok bool) {
	for i := range x.few.slots[:x.n] {
		s := &x.few.slots[i]
		m := x.Order.Entry(s.item)
		if m.Mask.beyondFirstWord() {
			return false
		}
		s.key, s.mask, m.block = x.Order.abbreviated(s.item), m.Mask.firstWord(), &x.Order.few // the order may be another one
	}
	x.few.refreshUnion(x.n)
	return true
}

// plant moves the entries to a tree.
func (x *Index[T]) plant() {
	b := newLeafBlock[T](2 * maxFew)
	for i, s := range x.few.slots[:x.n] {
		m := x.Order.Entry(s.item)
		b.insertSlot(i, s, m.Mask)
		m.block = b
	}
	b.refreshSummary()
	x.few, x.root = few[T]{}, b
}
