package objects

import "slices"

// order keeps members in the order of compare. A member's key must not change while
// it is a member: take it out, change it, put it back. Positions are found by halving,
// so a move costs a logarithm of comparisons and one shift of pointers.
type order[T any] struct {
	compare func(a, b T) int // total: never 0 for two different members
	list    []T
}

func (o *order[T]) insert(x T) {
	i, found := slices.BinarySearchFunc(o.list, x, o.compare)
	if found {
		panic("objects: a member of an order was inserted twice")
	}
	o.list = slices.Insert(o.list, i, x)
}

func (o *order[T]) remove(x T) {
	i, found := slices.BinarySearchFunc(o.list, x, o.compare)
	if !found {
		panic("objects: a member of an order changed its key while inside")
	}
	o.list = slices.Delete(o.list, i, i+1)
}

// resort restores the order after the keys of all members changed at once.
func (o *order[T]) resort() { slices.SortFunc(o.list, o.compare) }
