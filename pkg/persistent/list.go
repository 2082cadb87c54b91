// Package persistent has a sorted list that is cheap to publish again after a few changes.
//
// A Builder is changed in place. The Lists that it publishes never change: they share pages with the Builder, which
// copies a page before it changes a published one (copy-on-write). So a change costs one page however long the list is,
// publishing is nearly free, and two consecutive Lists share all pages without a change (ADR 32).
package persistent

import "iter"

// List is an immutable list of pointers in the order of the Builder that published it. The values must not be
// changed either: Lists share them. The zero value is empty. A List is safe for concurrent use.
type List[T any] struct {
	pages []*page[T] // none of them empty
	n     int
}

// page is a part of a list. It does not change after it was published.
type page[T any] struct {
	items []*T
	epoch uint64 // of the Builder when it created the page
}

// pageFill is the number of items of a page after a split; a page has at most twice as many.
const pageFill = 256

// ListOf returns the list of items in the given order.
func ListOf[T any](items ...*T) List[T] {
	l := List[T]{n: len(items)}
	for len(items) > 0 {
		k := min(len(items), pageFill)
		l.pages = append(l.pages, &page[T]{items: append([]*T(nil), items[:k]...)})
		items = items[k:]
	}
	return l
}

// Len returns the number of items.
func (l List[T]) Len() int { return l.n }

// All yields the items in order.
func (l List[T]) All() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, p := range l.pages {
			for _, x := range p.items {
				if !yield(x) {
					return
				}
			}
		}
	}
}

// Backward yields the items in reverse order.
func (l List[T]) Backward() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for i := len(l.pages) - 1; i >= 0; i-- {
			items := l.pages[i].items
			for j := len(items) - 1; j >= 0; j-- {
				if !yield(items[j]) {
					return
				}
			}
		}
	}
}

// At returns item i. Requires: 0 <= i < Len(). Its cost is proportional to the number of pages.
func (l List[T]) At(i int) *T {
	for _, p := range l.pages {
		if i < len(p.items) {
			return p.items[i]
		}
		i -= len(p.items)
	}
	panic("persistent: index out of range")
}

// Find returns the item for which compare is 0; nil: there is none. compare must be negative for items before it and
// positive for items after it.
func (l List[T]) Find(compare func(*T) int) *T {
	if p, i, found := find(l.pages, compare); found {
		return l.pages[p].items[i]
	}
	return nil
}

// From yields the items from the first one on for which compare is not negative.
func (l List[T]) From(compare func(*T) int) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		at, i, _ := find(l.pages, compare)
		for ; at < len(l.pages); at, i = at+1, 0 {
			for _, x := range l.pages[at].items[i:] {
				if !yield(x) {
					return
				}
			}
		}
	}
}

// SameAs reports whether l and other were published without a change in between. Equal lists need not be the
// same.
func (l List[T]) SameAs(other List[T]) bool {
	return l.n == other.n && (l.n == 0 || &l.pages[0] == &other.pages[0])
}

// find returns the position of the first item for which compare is not negative. If there is none, it is the position
// after the last item of the last page.
func find[T any](pages []*page[T], compare func(*T) int) (at, i int, found bool) {
	low, high := 0, len(pages)-1
	for low < high { // binary search for the first page whose last item does not compare negative
		mid := (low + high) / 2
		if items := pages[mid].items; compare(items[len(items)-1]) < 0 {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if len(pages) == 0 {
		return 0, 0, false
	}
	items := pages[low].items
	from, to := 0, len(items)
	for from < to {
		mid := (from + to) / 2
		switch c := compare(items[mid]); {
		case c < 0:
			from = mid + 1
		case c == 0:
			return low, mid, true
		default:
			to = mid
		}
	}
	return low, from, false
}
