package feasibility

// The rows of a block, all of the same width: the summary of the block, and then one for each entry or child.

// summary is the row of the block itself.
func (b *block[T]) summary() []uint64 { return b.rows[:b.width] }

// summaryKey is the abbreviated key of the last entry below b; 0: there is none.
func (b *block[T]) summaryKey() uint64 { return b.rows[0] }

// union is the union of the masks below b. Read-only.
func (b *block[T]) union() Mask { return b.rows[1:b.width] }

// row is the row of entry or child i.
func (b *block[T]) row(i int) []uint64 { return b.rows[(i+1)*b.width : (i+2)*b.width] }

// key is the abbreviated key of entry i, or of the last entry of child i.
func (b *block[T]) key(i int) uint64 { return b.rows[(i+1)*b.width] }

// mask is the mask of entry or child i. Read-only.
func (b *block[T]) mask(i int) Mask { return b.row(i)[1:] }

// firstRow is the first entry or child whose mask intersects f; -1: none does.
func (b *block[T]) firstRow(f Mask) int {
	if b.width == 2 {
		for i, at := 0, 3; at < len(b.rows); i, at = i+1, at+2 {
			if b.rows[at]&f[0] != 0 {
				return i
			}
		}
		return -1
	}
	n := min(b.width-1, len(f))
	for i, at := 0, b.width+1; at < len(b.rows); i, at = i+1, at+b.width {
		for k, r := range b.rows[at : at+n] {
			if r&f[k] != 0 {
				return i
			}
		}
	}
	return -1
}

// setRow sets the row of entry or child i. It reports whether the mask changed.
func (b *block[T]) setRow(i int, key uint64, mask Mask) (maskChanged bool) {
	b.widen(len(mask) + 1)
	row := b.row(i)
	row[0] = key
	for k, was := range row[1:] {
		var now uint64
		if k < len(mask) {
			now = mask[k]
		}
		if now != was {
			row[k+1] = now
			maskChanged = true
		}
	}
	return maskChanged
}

// insertRow inserts a row in front of that of entry or child i.
func (b *block[T]) insertRow(i int, key uint64, mask Mask) {
	b.widen(len(mask) + 1)
	for range b.width {
		b.rows = append(b.rows, 0)
	}
	at := (i + 1) * b.width
	copy(b.rows[at+b.width:], b.rows[at:])
	row := b.row(i)
	row[0] = key
	clear(row[1+copy(row[1:], mask):])
}

// removeRow removes the row of entry or child i.
func (b *block[T]) removeRow(i int) {
	at := (i + 1) * b.width
	b.rows = append(b.rows[:at], b.rows[at+b.width:]...)
}

// moveRow removes row i and inserts it so that it becomes row j.
func (b *block[T]) moveRow(i, j int) {
	var buffer [4]uint64 // more only if there are many shapes
	moving := append(buffer[:0], b.row(i)...)
	from, to, w := (i+1)*b.width, (j+1)*b.width, b.width
	if i < j {
		copy(b.rows[from:to], b.rows[from+w:to+w])
	} else {
		copy(b.rows[to+w:from+w], b.rows[to:from])
	}
	copy(b.rows[to:to+w], moving)
}

// refreshSummary updates the summary from the rows. It reports whether it changed.
func (b *block[T]) refreshSummary() (changed bool) {
	var last uint64
	if n := b.size(); n > 0 {
		last = b.key(n - 1)
	}
	summary := b.summary()
	changed = summary[0] != last
	summary[0] = last
	if b.width == 2 {
		var all uint64
		for at := 3; at < len(b.rows); at += 2 {
			all |= b.rows[at]
		}
		changed = changed || all != summary[1]
		summary[1] = all
		return changed
	}
	for k := 1; k < b.width; k++ {
		var all uint64
		for at := b.width + k; at < len(b.rows); at += b.width {
			all |= b.rows[at]
		}
		changed = changed || all != summary[k]
		summary[k] = all
	}
	return changed
}

// widen gives each row at least width words.
func (b *block[T]) widen(width int) {
	if width <= b.width {
		return
	}
	n := len(b.rows) / b.width
	rows := make([]uint64, n*width, max(n, 5)*width)
	for i := range n {
		copy(rows[i*width:], b.rows[i*b.width:(i+1)*b.width])
	}
	b.rows, b.width = rows, width
}
