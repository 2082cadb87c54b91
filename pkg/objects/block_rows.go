package objects

// The rows of a block: a mask for each member, all of the same width.

// row is the mask in row i. Read-only.
func (b *block[T]) row(i int) Mask { return b.rows[i*b.width : (i+1)*b.width] }

// firstRow is the first row that meets f; -1: none does.
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

// setRow makes row i the mask can. It reports whether that changed anything.
func (b *block[T]) setRow(i int, can Mask) (changed bool) {
	b.widen(len(can))
	for k, was := range b.row(i) {
		var now uint64
		if k < len(can) {
			now = can[k]
		}
		if now != was {
			b.rows[i*b.width+k] = now
			changed = true
		}
	}
	return changed
}

// insertRow makes room for a row in front of row i, and makes it the mask can.
func (b *block[T]) insertRow(i int, can Mask) {
	b.widen(len(can))
	for range b.width {
		b.rows = append(b.rows, 0)
	}
	copy(b.rows[(i+1)*b.width:], b.rows[i*b.width:])
	clear(b.rows[i*b.width : (i+1)*b.width])
	copy(b.rows[i*b.width:(i+1)*b.width], can)
}

// removeRow takes row i out.
func (b *block[T]) removeRow(i int) {
	b.rows = append(b.rows[:i*b.width], b.rows[(i+1)*b.width:]...)
}

// moveRow takes row i out and puts it where it is row j then.
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

// widen gives every row at least width words.
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
