package preemption

import (
	"math"
	"math/bits"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// want is what the rank of a node depends on, besides the node.
type want struct {
	shape    *objects.Shape
	priority int32
}

// The rank of a node is the lowest priority such that an ask would have room there if all
// work of at most that priority had gone. It is below the priority of the most important
// victim of any plan for the node, or it is that. These two are no priorities.
const (
	roomy    = math.MinInt64 // there is room as it is, or when those have gone who were told to
	hopeless = math.MaxInt64
)

// ranking has the rank of every node for one kind of ask. It is a tree of minima over the
// places of a roll: node k has its children at 2k and 2k+1, and the root is at 1. So the
// nodes of the lowest rank are found without looking at the others.
type ranking struct {
	least []int64
	width int // places in the lowest level
	made  int // of the roll, when it was filled
	seen  int // entries of its log that are in it
	room  resources.Vector
}

// sync brings r up to date with l, for asks like x.
func (r *ranking) sync(l *roll, x *objects.Allocation) {
	if r.made != l.made || len(l.log)-r.seen > len(l.nodes) {
		r.fill(l, x)
	}
	for _, place := range l.log[r.seen:] {
		k := r.width + place
		r.least[k] = r.rank(l, place, x)
		for k /= 2; k > 0; k /= 2 {
			least := min(r.least[2*k], r.least[2*k+1])
			if r.least[k] == least {
				break
			}
			r.least[k] = least
		}
	}
	r.seen = len(l.log)
}

func (r *ranking) fill(l *roll, x *objects.Allocation) {
	r.made, r.seen = l.made, len(l.log)
	r.width = 1 << bits.Len(uint(max(len(l.nodes)-1, 0)))
	r.least = slices.Grow(r.least[:0], 2*r.width)[:2*r.width]
	for place := range r.width {
		r.least[r.width+place] = hopeless
		if place < len(l.nodes) {
			r.least[r.width+place] = r.rank(l, place, x)
		}
	}
	for k := r.width - 1; k > 0; k-- {
		r.least[k] = min(r.least[2*k], r.least[2*k+1])
	}
}

func (r *ranking) rank(l *roll, place int, x *objects.Allocation) int64 {
	l.ranked++
	v := x.Shape().Vector()
	c, only := &l.crews[place], l.only[place]
	if only == notPlain {
		return r.rankOf(l.nodes[place], c, x)
	}
	row := l.flat[2*l.kinds*place : 2*l.kinds*(place+1)]
	fits := true
	for k, n := range v {
		switch {
		case n <= 0:
		case k >= l.kinds: // an ask that is only supposed may be for what nobody has heard of
			return hopeless
		case n > row[k]:
			if fits = false; resources.Less(n, row[k]) > row[l.kinds+k] {
				return hopeless
			}
		}
	}
	switch {
	case fits:
		return roomy
	case only != manyLevels:
		return only
	}
	return c.rank(c.room, v)
}

// rankOf is the rank of a node that somebody waits for, or was told to leave, or that takes no work.
func (r *ranking) rankOf(n *objects.Node, c *crew, x *objects.Allocation) int64 {
	if !n.Schedulable() {
		return hopeless
	}
	r.room = n.RoomOnceLeft(r.room, x)
	return c.rank(r.room, x.Shape().Vector())
}

// coversTogether reports whether a and b together cover v.
func coversTogether(a, b, v resources.Vector) bool {
	for k, n := range v {
		k := resources.Kind(k)
		if n > 0 && resources.Less(n, a.At(k)) > b.At(k) {
			return false
		}
	}
	return true
}

// of is the rank of the node at a place.
func (r *ranking) of(place int) int64 { return r.least[r.width+place] }

// lowest is the lowest rank of all.
func (r *ranking) lowest() int64 { return r.least[1] }

// byRank yields the places of nodes that are not hopeless, the lowest rank first, and those
// of one rank in order.
func (r *ranking) byRank(yield func(place int) bool) {
	for rank := r.least[1]; rank != hopeless; rank = r.above(rank) {
		if !r.between(1, rank, rank, yield) {
			return
		}
	}
}

// byPlace yields the places of nodes that are not hopeless in order.
func (r *ranking) byPlace(yield func(place int) bool) { r.between(1, roomy, hopeless-1, yield) }

// above is the lowest rank above another.
func (r *ranking) above(rank int64) int64 {
	least := int64(hopeless)
	for _, other := range r.least[r.width:] {
		if other > rank && other < least {
			least = other
		}
	}
	return least
}

func (r *ranking) between(k int, low, high int64, yield func(place int) bool) bool {
	switch {
	case r.least[k] > high:
		return true
	case k < r.width:
		return r.between(2*k, low, high, yield) && r.between(2*k+1, low, high, yield)
	case r.least[k] < low:
		return true
	}
	return yield(k - r.width)
}
