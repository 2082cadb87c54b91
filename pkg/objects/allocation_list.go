package objects

import (
	"cmp"
	"slices"
)

// allocationList is a list of allocations in no order. Each allocation has its index on it, so that
// it is found and removed in constant time.
type allocationList []*Allocation

// The lists on which an allocation can be: that of its application, and that of its node or, while
// it is pending, that of the unschedulable asks of its group.
func indexInApp(x *Allocation) *int32           { return &x.appIndex }
func indexOnNode(x *Allocation) *int32          { return &x.nodeIndex }
func indexInUnschedulable(x *Allocation) *int32 { return &x.nodeIndex }

// add adds x to the list. Requires: it is not on it.
func (r *allocationList) add(x *Allocation, index func(*Allocation) *int32) {
	*index(x) = int32(len(*r))
	*r = append(*r, x)
}

// remove removes x; the last one takes its position. Requires: x is on the list.
func (r *allocationList) remove(x *Allocation, index func(*Allocation) *int32) {
	if !r.has(x, index) {
		panic("objects: " + string(x.Key()) + " is not on its list")
	}
	list := *r
	i, last := *index(x), len(list)-1
	list[i] = list[last]
	*index(list[i]) = i
	list[last] = nil
	*r = list[:last]
}

// has reports whether x is on the list.
func (r *allocationList) has(x *Allocation, index func(*Allocation) *int32) bool {
	i := int(*index(x))
	return i < len(*r) && (*r)[i] == x
}

// sorted is the list in key order, in a new slice.
func (r *allocationList) sorted() []*Allocation {
	out := slices.Clone(*r)
	slices.SortFunc(out, func(a, b *Allocation) int { return cmp.Compare(a.Key(), b.Key()) })
	return out
}
