package persistent

import "slices"

// Builder builds Lists. A Builder is not safe for concurrent use; its Lists are. The zero value needs Compare
// before its first use.
type Builder[T any] struct {
	// Compare orders the items. Items for which it returns 0 have the same key: the list has the one that was put last. It
	// must not change.
	Compare func(a, b *T) int

	pages     []*page[T]
	n         int
	epoch     uint64 // pages of earlier epochs are published
	published bool   // the slice pages is shared with a List
}

// Len returns the number of items.
func (b *Builder[T]) Len() int { return b.n }

// Put adds x, or replaces the item with the same key and returns it; nil: there was none.
func (b *Builder[T]) Put(x *T) (previous *T) {
	at, i, found := b.find(x)
	if found {
		previous = b.pages[at].items[i]
		if previous != x {
			b.writablePage(at).items[i] = x
		}
		return previous
	}
	b.n++
	if len(b.pages) == 0 {
		b.copyPages()
		b.pages = append(b.pages, &page[T]{epoch: b.epoch})
	}
	p := b.writablePage(at)
	p.items = slices.Insert(p.items, i, x)
	if len(p.items) > 2*pageFill {
		right := &page[T]{items: slices.Clone(p.items[pageFill:]), epoch: b.epoch}
		clear(p.items[pageFill:])
		p.items = p.items[:pageFill]
		b.pages = slices.Insert(b.pages, at+1, right)
	}
	return nil
}

// Remove removes the item with the key of x and returns it; nil: there is none.
func (b *Builder[T]) Remove(x *T) (removed *T) {
	at, i, found := b.find(x)
	if !found {
		return nil
	}
	b.n--
	p := b.writablePage(at)
	removed = p.items[i]
	p.items = slices.Delete(p.items, i, i+1)
	if len(p.items) == 0 {
		b.pages = slices.Delete(b.pages, at, at+1)
	} else if len(p.items) < pageFill/4 {
		b.mergePage(at)
	}
	return removed
}

// Find returns the item with the key of x; nil: there is none.
func (b *Builder[T]) Find(x *T) *T {
	if at, i, found := b.find(x); found {
		return b.pages[at].items[i]
	}
	return nil
}

// List publishes the current list. Without a change in between it is the same one (SameAs).
func (b *Builder[T]) List() List[T] {
	if !b.published {
		b.published = true
		b.epoch++
	}
	return List[T]{pages: b.pages, n: b.n}
}

// find returns the position of x.
func (b *Builder[T]) find(x *T) (at, i int, found bool) {
	return find(b.pages, func(y *T) int { return b.Compare(y, x) })
}

// mergePage merges page at with a neighbour if both fit into one page. Requires: the page and the slice of pages
// are writable.
func (b *Builder[T]) mergePage(at int) {
	for _, left := range []int{at - 1, at} {
		if left < 0 || left+1 >= len(b.pages) || len(b.pages[left].items)+len(b.pages[left+1].items) > pageFill {
			continue
		}
		p := b.writablePage(left)
		p.items = append(p.items, b.pages[left+1].items...)
		b.pages = slices.Delete(b.pages, left+1, left+2)
		return
	}
}

// writablePage returns page at, copied first if it is published.
func (b *Builder[T]) writablePage(at int) *page[T] {
	b.copyPages()
	if b.pages[at].epoch != b.epoch {
		b.pages[at] = &page[T]{items: slices.Clone(b.pages[at].items), epoch: b.epoch}
	}
	return b.pages[at]
}

// copyPages copies the slice of pages if a List shares it.
func (b *Builder[T]) copyPages() {
	if b.published {
		b.pages, b.published = slices.Clone(b.pages), false
	}
}
