package objects

// Mask is a set of shapes, by their slots. Masks may differ in length; a slot beyond the end is not
// in the set.
type Mask []uint64

func (m Mask) has(slot int) bool {
	w := slot >> 6
	return w < len(m) && m[w]>>(slot&63)&1 != 0
}

// set adds slot to m, or removes it.
func (m *Mask) set(slot int, in bool) {
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

// intersects reports whether m and n have a slot in common.
func (m Mask) intersects(n Mask) bool {
	for w := range min(len(m), len(n)) {
		if m[w]&n[w] != 0 {
			return true
		}
	}
	return false
}

// empty reports whether m has no slot.
func (m Mask) empty() bool {
	for _, w := range m {
		if w != 0 {
			return false
		}
	}
	return true
}

// equal reports whether m and n have the same slots.
func (m Mask) equal(n Mask) bool {
	if len(m) < len(n) {
		m, n = n, m
	}
	for w := range n {
		if m[w] != n[w] {
			return false
		}
	}
	return m[len(n):].empty()
}

// unionWith adds all slots of n to m.
func (m *Mask) unionWith(n Mask) {
	for len(*m) < len(n) {
		*m = append(*m, 0)
	}
	for w, b := range n {
		(*m)[w] |= b
	}
}

// copyFrom makes m equal to n, in place.
func (m *Mask) copyFrom(n Mask) { *m = append((*m)[:0], n...) }

// subtract removes from m the slots of n.
func (m Mask) subtract(n Mask) {
	for w := range min(len(m), len(n)) {
		m[w] &^= n[w]
	}
}

// intersectWith removes from m the slots that are not in n.
func (m Mask) intersectWith(n Mask) {
	for w := range m {
		if w < len(n) {
			m[w] &= n[w]
		} else {
			m[w] = 0
		}
	}
}
