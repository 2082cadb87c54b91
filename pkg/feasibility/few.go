package feasibility

// A few entries are in the index itself, without a block: most queues have few children, most leaves few applications,
// and most applications few ask groups. So a search reads one place in memory for each level of the queue tree.

// maxFew bounds the entries of an index without a tree.
const maxFew = 4

// few holds the entries of an index without a tree, whose masks have one word.
type few[T any] struct {
	union [1]uint64 // of the masks
	slots [maxFew]slot[T]
}

// slot is an entry of an index, or a block of its tree, in the order of the index. It holds what a search reads of
// entries and blocks, so that a search reads consecutive memory.
type slot[T any] struct {
	item T      // the item; of a block: none
	key  uint64 // the abbreviated key of the item, or of the last item of the block
	mask uint64 // the first word of the mask, or of the union of the masks in the block
}

func (t *few[T]) refreshUnion() {
	t.union[0] = t.slots[0].mask | t.slots[1].mask | t.slots[2].mask | t.slots[3].mask // unused slots have no mask
}

// firstOfFew is First without a tree.
func (x *Index[T]) firstOfFew(f Mask) (found T, ok bool) {
	if len(f) == 0 {
		return found, false
	}
	for i := range x.few.slots {
		if s := &x.few.slots[i]; s.mask&f[0] != 0 { // the mask of an unused slot is empty
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

// reindexFew is Reindex without a tree; m is the entry of the item. done is false if the item must be indexed in a
// tree, which then exists.
func (x *Index[T]) reindexFew(item T, m *Entry[T], member bool) (done bool) {
	indexed := m.Indexed()
	switch {
	case !member && !indexed:
		return true
	case !member:
		x.removeFew(item, m)
		return true
	case m.Mask.beyondFirstWord() || !indexed && x.n == maxFew:
		x.plant()
		return false
	}
	t, key, mask := &x.few, x.Order.abbreviated(item), m.Mask.firstWord()
	if !indexed {
		t.slots[x.n].item = item
		m.block = &x.Order.few
		x.n++
	}
	at := x.n - 1
	if indexed {
		at = x.Order.find(t.slots[:x.n], item)
	}
	from := at
	for at > 0 {
		before := &t.slots[at-1]
		if key > before.key || key == before.key && x.comesAfter(item, before.item) {
			break
		}
		t.slots[at] = *before
		at--
	}
	for at >= from && at < x.n-1 {
		behind := &t.slots[at+1]
		if key < behind.key || key == behind.key && !x.comesAfter(item, behind.item) {
			break
		}
		t.slots[at] = *behind
		at++
	}
	s := &t.slots[at]
	if at != from {
		s.item = item
	}
	s.key, s.mask = key, mask
	t.refreshUnion()
	return true
}

// removeFew removes an entry.
func (x *Index[T]) removeFew(item T, m *Entry[T]) {
	t := &x.few
	at := x.Order.find(t.slots[:x.n], item)
	for x.n--; at < x.n; at++ {
		t.slots[at] = t.slots[at+1]
	}
	t.slots[x.n], m.block = slot[T]{}, nil
	t.refreshUnion()
}

// comesAfter reports whether an item comes after another with the same abbreviated key.
func (x *Index[T]) comesAfter(item, other T) bool {
	c := x.Order.Compare(item, other)
	if c == 0 {
		panic("feasibility: two items of an index compare equal")
	}
	return c > 0
}

// refreshFew updates the slots from the entries. ok is false if a mask has more than one word.
func (x *Index[T]) refreshFew() (ok bool) {
	for i := range x.few.slots[:x.n] {
		s := &x.few.slots[i]
		m := x.Order.Entry(s.item)
		if m.Mask.beyondFirstWord() {
			return false
		}
		s.key, s.mask, m.block = x.Order.abbreviated(s.item), m.Mask.firstWord(), &x.Order.few // the order may have changed
	}
	x.few.refreshUnion()
	return true
}

// plant moves the entries to a tree.
func (x *Index[T]) plant() {
	b := newLeafBlock[T](max(3, 2*x.n)) // most trees have few entries, with masks of many words
	for i, s := range x.few.slots[:x.n] {
		m := x.Order.Entry(s.item)
		b.insertSlot(i, s, m.Mask)
		m.block = b
	}
	b.refreshSummary(allWords)
	x.few, x.root = few[T]{}, b
}
