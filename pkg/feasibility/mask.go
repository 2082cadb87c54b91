package feasibility

// Mask is a set of shapes, by their slots. Masks may differ in length; a slot beyond the end is not
// in the set.
type Mask []uint64

// wordBits is the number of slots in a word of a mask.
const wordBits = 64

// firstWord returns the first word of m.
func (m Mask) firstWord() uint64 {
	if len(m) == 0 {
		return 0
	}
	return m[0]
}

// beyondFirstWord reports whether m has a slot beyond its first word.
func (m Mask) beyondFirstWord() bool { return len(m) > 1 && !m[1:].Empty() }

// Has reports whether slot is in m.
func (m Mask) Has(slot int) bool {
	w := slot >> 6
	return w < len(m) && m[w]>>(slot&63)&1 != 0
}

// Set adds slot to m, or removes it.
func (m *Mask) Set(slot int, in bool) {
	w := slot >> 6
	for len(*m) <= w {
		*m = append(*m, 0)
	}
	if in {
		(*m)[w] |= 1 << (slot & 63)
		return
	}
	(*m)[w] &^= 1 << (slot & 63)
}

// Intersects reports whether m and n have a slot in common.
func (m Mask) Intersects(n Mask) bool {
	for w := range min(len(m), len(n)) {
		if m[w]&n[w] != 0 {
			return true
		}
	}
	return false
}

// commonWords returns the range, from first to before end, of the words in which m and n have a slot in common; first
// and end are equal: there is none.
func (m Mask) commonWords(n Mask) (first, end int) {
	for end = min(len(m), len(n)); end > 0 && m[end-1]&n[end-1] == 0; {
		end--
	}
	for first < end && m[first]&n[first] == 0 {
		first++
	}
	return first, end
}

// Empty reports whether m has no slot.
func (m Mask) Empty() bool {
	for _, w := range m {
		if w != 0 {
			return false
		}
	}
	return true
}

// Equal reports whether m and n have the same slots.
func (m Mask) Equal(n Mask) bool {
	if len(m) < len(n) {
		m, n = n, m
	}
	for w := range n {
		if m[w] != n[w] {
			return false
		}
	}
	return m[len(n):].Empty()
}

// UnionWith adds all slots of n to m.
func (m *Mask) UnionWith(n Mask) {
	for len(*m) < len(n) {
		*m = append(*m, 0)
	}
	for w, b := range n {
		(*m)[w] |= b
	}
}

// CopyFrom makes m equal to n, in place.
func (m *Mask) CopyFrom(n Mask) { *m = append((*m)[:0], n...) }

// Subtract removes the slots of n from m.
func (m Mask) Subtract(n Mask) {
	for w := range min(len(m), len(n)) {
		m[w] &^= n[w]
	}
}

// IntersectWith removes the slots from m that are not in n.
func (m Mask) IntersectWith(n Mask) {
	for w := range m {
		if w < len(n) {
			m[w] &= n[w]
		} else {
			m[w] = 0
		}
	}
}

// wordSet says which words of a mask have changed, or may have. Its last bit stands for all words from lastWord on.
type wordSet uint64

const (
	lastWord         = 63
	allWords wordSet = 1<<(lastWord+1) - 1
)

func (s wordSet) has(word int) bool { return s>>min(word, lastWord)&1 != 0 }
func (s *wordSet) add(word int)     { *s |= 1 << min(word, lastWord) }
