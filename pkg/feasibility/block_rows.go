package feasibility

// The rows of a block: the mask of each entry or child, all of the same width.

// row is the mask in row i. Read-only.
func (b *block[T]) row(i int) Mask { return b.rows[i*b.width : (i+1)*b.width] }

// firstRow is the first row that intersects f; -1: none does.
func (b *block[T]) firstRow(f Mask) int {
	if b.width == 1 {
		for i, r := range b.rows {
			if r&f[0] != 0 {
				return i
			}
		}
		return -1
	}
	n := min(b.width, len(f))
	for i, at := 0, 0; at < len(b.rows); i, at = i+1, at+b.width {
		for k, r := range b.rows[at : at+n] {
			if r&f[k] != 0 {
				return i
			}
		}
	}
	return -1
}

// setRow sets row i to mask. It reports whether the row changed.
func (b *block[T]) setRow(i int, mask Mask) (changed bool) {
	b.widen(len(mask))
	for k, was := range b.row(i) {
		var now uint64
		if k < len(mask) {
			now = mask[k]
		}
		if now != was {
			b.rows[i*b.width+k] = now
			changed = true
		}
	}
	return changed
}

// insertRow inserts mask in front of row i.
func (b *block[T]) insertRow(i int, mask Mask) {
	b.widen(len(mask))
	for range b.width {
		b.rows = append(b.rows, 0)
	}
	copy(b.rows[(i+1)*b.width:], b.rows[i*b.width:])
	clear(b.rows[i*b.width : (i+1)*b.width])
	copy(b.rows[i*b.width:(i+1)*b.width], mask)
}

// removeRow removes row i.
func (b *block[T]) removeRow(i int) {
	b.rows = append(b.rows[:i*b.width], b.rows[(i+1)*b.width:]...)
}

// moveRow removes row i and inserts it so that it becomes row j.
func (b *block[T]) moveRow(i, j int) {
	for k := range b.width {
		moving := b.rows[i*b.width+k]
		for at := i; at < j; at++ {
			b.rows[at*b.width+k] = b.rows[(at+1)*b.width+k]
		}
		for at := i; at > j; at-- {
			b.rows[at*b.width+k] = b.rows[(at-1)*b.width+k]
		}
		b.rows[j*b.width+k] = moving
	}
}

// widen gives each row at least width words.
func (b *block[T]) widen(width int) {
	if width <= b.width {
		return
	}
	n := len(b.rows) / b.width
	rows := make([]uint64, n*width, max(n, 4)*width)
	for i := range n {
		copy(rows[i*width:], b.rows[i*b.width:(i+1)*b.width])
	}
	b.rows, b.width = rows, width
}
