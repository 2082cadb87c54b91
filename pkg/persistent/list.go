// Package persistent has a sorted list that is cheap to publish again after a few changes.
//
// A Builder is changed in place. What it publishes, a List, never changes: the two share
// their pages, and a Builder copies a page before it changes one that is published. So a
// change costs a page however long the list is, publishing costs next to nothing, and two
// Lists that were published one after the other share all pages between which nothing
// changed (ADR 32).
package persistent

import "iter"

// List is an immutable list of pointers in the order of the Builder that published it. What
// they point to must not be changed either: it is shared between Lists. The zero value is
// empty. A List may be read by any number of goroutines.
type List[T any] struct {
	pages []*page[T] // none of them empty
	n     int
}

// page is a part of a list. Once published it is not changed any more.
type page[T any] struct {
	items []*T
	epoch uint64 // of the Builder that may still change it
}

// pageFill is how many items a page gets when one is divided, twice that how many it may have.
const pageFill = 256

// ListOf is the list of items in the order in which they are given.
func ListOf[T any](items ...*T) List[T] {
	l := List[T]{n: len(items)}
	for len(items) > 0 {
		k := min(len(items), pageFill)
		l.pages = append(l.pages, &page[T]{items: append([]*T(nil), items[:k]...)})
		items = items[k:]
	}
	return l
}

// Len is how many items there are.
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

// Backward yields the items, the last first.
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

// At is item i. Requires: 0 <= i < Len(). It costs as much as there are pages.
func (l List[T]) At(i int) *T {
	for _, p := range l.pages {
		if i < len(p.items) {
			return p.items[i]
		}
		i -= len(p.items)
	}
	panic("persistent: index out of range")
}

// Find is the item for which compare is 0; nil: there is none. compare is negative for items
// before it and positive for items behind it.
func (l List[T]) Find(compare func(*T) int) *T {
	if p, i, found := find(l.pages, compare); found {
		return l.pages[p].items[i]
	}
	return nil
}

// From yields the items from the first for which compare is not negative.
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

// SameAs reports whether l and other are the same list, published with no change in between.
// Lists that are equal by chance need not be the same.
func (l List[T]) SameAs(other List[T]) bool {
	return l.n == other.n && (l.n == 0 || &l.pages[0] == &other.pages[0])
}

// find is the place of the first item for which compare is not negative: behind the last item
// of the last page if there is none, unless there is no page.
func find[T any](pages []*page[T], compare func(*T) int) (at, i int, found bool) {
	low, high := 0, len(pages)-1
	for low < high { // the first page whose last item is not before what is sought
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
