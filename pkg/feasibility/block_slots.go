package feasibility

import "slices"

// The slots of a block, and the mask words that the slots have no place for.

// width returns the number of words of a mask after the first.
func (b *block[T]) width() int { return len(b.union) - 1 }

// wideOf returns the words after the first of the mask of slot i.
func (b *block[T]) wideOf(i int) []uint64 { return b.wide[i*b.width() : (i+1)*b.width()] }

// has reports whether the mask of slot i has a shape.
func (b *block[T]) has(i, shape int) bool {
	if shape < wordBits {
		return b.slots[i].mask>>shape&1 != 0
	}
	return Mask(b.wideOf(i)).Has(shape - wordBits)
}

// wordsOf returns the words of the mask of slot i that are not 0.
func (b *block[T]) wordsOf(i int) (words wordSet) {
	if b.slots[i].mask != 0 {
		words.add(0)
	}
	for k, word := range b.wideOf(i) {
		if word != 0 {
			words.add(k + 1)
		}
	}
	return words
}

// nextSlot returns the first slot, from slot i on, whose mask intersects f; the number of slots: there is none. first
// and end bound the words that the union and f have in common; there is at least one.
func (b *block[T]) nextSlot(i int, f Mask, first, end int) int {
	if end == 1 {
		for word := f[0]; i < len(b.slots) && b.slots[i].mask&word == 0; i++ {
		}
		return i
	}
	from := max(first, 1)
	words := f[from:end]
	for at := i*b.width() + from - 1; i < len(b.slots); i, at = i+1, at+b.width() {
		if first == 0 && b.slots[i].mask&f[0] != 0 {
			return i
		}
		for k, word := range b.wide[at : at+len(words)] {
			if word&words[k] != 0 {
				return i
			}
		}
	}
	return i
}

// setSlot sets the key and the mask of slot i. It returns the words of the mask that changed.
func (b *block[T]) setSlot(i int, key uint64, mask Mask) (changed wordSet) {
	s, first := &b.slots[i], mask.firstWord()
	if s.mask != first {
		changed.add(0)
	}
	s.key, s.mask = key, first
	b.widen(len(mask) - 1)
	if b.width() == 0 {
		return changed
	}
	words := b.wideOf(i)
	for k := range words {
		var word uint64
		if k+1 < len(mask) {
			word = mask[k+1]
		}
		if words[k] != word {
			changed.add(k + 1)
		}
		words[k] = word
	}
	return changed
}

// insertSlot inserts s, with a mask, in front of slot i.
func (b *block[T]) insertSlot(i int, s slot[T], mask Mask) {
	b.widen(len(mask) - 1)
	if n := len(b.slots); n == cap(b.slots) {
		b.slots = append(make([]slot[T], 0, min(n+max(n/2, 2), blockSize+1)), b.slots...)
	}
	b.slots = b.slots[:len(b.slots)+1]
	copy(b.slots[i+1:], b.slots[i:])
	b.slots[i] = s
	b.slots[i].mask = mask.firstWord()
	if b.width() == 0 {
		return
	}
	b.wide = slices.Grow(b.wide, b.width())[:len(b.wide)+b.width()]
	copy(b.wide[(i+1)*b.width():], b.wide[i*b.width():])
	words := b.wideOf(i)
	n := 0
	if len(mask) > 1 {
		n = copy(words, mask[1:])
	}
	clear(words[n:])
}

// removeSlot removes slot i.
func (b *block[T]) removeSlot(i int) {
	b.slots = slices.Delete(b.slots, i, i+1)
	if b.width() > 0 {
		b.wide = slices.Delete(b.wide, i*b.width(), (i+1)*b.width())
	}
}

// moveSlot removes slot i and inserts it so that it becomes slot j.
func (b *block[T]) moveSlot(i, j int) {
	moving := b.slots[i]
	if i < j {
		copy(b.slots[i:j], b.slots[i+1:j+1])
	} else {
		copy(b.slots[j+1:i+1], b.slots[j:i])
	}
	b.slots[j] = moving
	if b.width() == 0 {
		return
	}
	words := append(b.wide[len(b.wide):], b.wideOf(i)...) // allocates nothing if there is space for another slot
	if w := b.width(); i < j {
		copy(b.wide[i*w:j*w], b.wide[(i+1)*w:(j+1)*w])
	} else {
		copy(b.wide[(j+1)*w:(i+1)*w], b.wide[j*w:i*w])
	}
	copy(b.wideOf(j), words)
}

// refreshSummary updates the last key, and those words of the union that may have changed, from the slots. It reports
// whether one changed.
func (b *block[T]) refreshSummary(words wordSet) (changed bool) {
	var last uint64
	if n := len(b.slots); n > 0 {
		last = b.slots[n-1].key
	}
	changed = b.last != last
	b.last = last
	if words.has(0) {
		var all uint64
		for i := range b.slots {
			all |= b.slots[i].mask
		}
		changed = changed || b.union[0] != all
		b.union[0] = all
	}
	for k := range b.width() {
		if !words.has(k + 1) {
			continue
		}
		var all uint64
		for at := k; at < len(b.wide); at += b.width() {
			all |= b.wide[at]
		}
		changed = changed || b.union[k+1] != all
		b.union[k+1] = all
	}
	return changed
}

// widen gives the mask of each slot at least width words behind the first.
func (b *block[T]) widen(width int) {
	if width <= b.width() {
		return
	}
	n := len(b.slots)
	wide := make([]uint64, n*width, cap(b.slots)*width)
	for i := range n {
		copy(wide[i*width:], b.wideOf(i))
	}
	b.wide = wide
	b.union = append(make(Mask, 0, width+1), b.union...)[:width+1]
}
