package preemption

import (
	"math"
	"math/bits"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// rankingKey is what the rank of a node depends on, besides the node.
type rankingKey struct {
	shape    *objects.Shape
	priority int32
}

// The rank of a node is the lowest priority such that an ask would have room there if all
// work of at most that priority had gone. It is below the priority of the most important
// victim of any plan for the node, or it is that. These two are no priorities.
const (
	rankFits       = math.MinInt64 // there is room as it is, or when those have gone who were told to
	rankInfeasible = math.MaxInt64
)

// nodeRanking has the rank of every node for one kind of ask. It is a tree of minima over the
// places of a roll: node k has its children at 2k and 2k+1, and the root is at 1. So the
// nodes of the lowest rank are found without looking at the others.
type nodeRanking struct {
	tree           []int64
	width          int // places in the lowest level
	rebuilds       int // of the roll, when it was filled
	appliedUpdates int // entries of its log that are in it
	free           resources.Vector
}

// sync brings r up to date with l, for asks like x.
func (r *nodeRanking) sync(l *nodeCache, x *objects.Allocation) {
	if r.rebuilds != l.rebuilds || len(l.updates)-r.appliedUpdates > len(l.nodes) {
		r.fill(l, x)
	}
	for _, index := range l.updates[r.appliedUpdates:] {
		k := r.width + index
		r.tree[k] = r.rank(l, index, x)
		for k /= 2; k > 0; k /= 2 {
			minimum := min(r.tree[2*k], r.tree[2*k+1])
			if r.tree[k] == minimum {
				break
			}
			r.tree[k] = minimum
		}
	}
	r.appliedUpdates = len(l.updates)
}

func (r *nodeRanking) fill(l *nodeCache, x *objects.Allocation) {
	r.rebuilds, r.appliedUpdates = l.rebuilds, len(l.updates)
	r.width = 1 << bits.Len(uint(max(len(l.nodes)-1, 0)))
	r.tree = slices.Grow(r.tree[:0], 2*r.width)[:2*r.width]
	for index := range r.width {
		r.tree[r.width+index] = rankInfeasible
		if index < len(l.nodes) {
			r.tree[r.width+index] = r.rank(l, index, x)
		}
	}
	for k := r.width - 1; k > 0; k-- {
		r.tree[k] = min(r.tree[2*k], r.tree[2*k+1])
	}
}

func (r *nodeRanking) rank(l *nodeCache, index int, x *objects.Allocation) int64 {
	l.ranked++
	v := x.Shape().Vector()
	c, level := &l.summaries[index], l.singlePriority[index]
	if level == disturbedNode {
		return r.rankDisturbed(l.nodes[index], c, x)
	}
	row := l.quantities[2*l.resourceKinds*index : 2*l.resourceKinds*(index+1)]
	fits := true
	for k, n := range v {
		switch {
		case n <= 0:
		case k >= l.resourceKinds: // an ask that is only supposed may be for what nobody has heard of
			return rankInfeasible
		case n > row[k]:
			if fits = false; resources.SubSaturated(n, row[k]) > row[l.resourceKinds+k] {
				return rankInfeasible
			}
		}
	}
	switch {
	case fits:
		return rankFits
	case level != severalPriorities:
		return level
	}
	return c.rank(c.available, v)
}

// rankDisturbed is the rank of a node that somebody waits for, or was told to leave, or that takes no work.
func (r *nodeRanking) rankDisturbed(n *objects.Node, c *nodeSummary, x *objects.Allocation) int64 {
	if !n.Schedulable() {
		return rankInfeasible
	}
	r.free = n.FreeAfterPreemption(r.free, x)
	return c.rank(r.free, x.Shape().Vector())
}

// sumCovers reports whether a and b together cover v.
func sumCovers(a, b, v resources.Vector) bool {
	for k, n := range v {
		k := resources.Index(k)
		if n > 0 && resources.SubSaturated(n, a.At(k)) > b.At(k) {
			return false
		}
	}
	return true
}

// rankAt is the rank of the node at a place.
func (r *nodeRanking) rankAt(index int) int64 { return r.tree[r.width+index] }

// lowest is the lowest rank of all.
func (r *nodeRanking) lowest() int64 { return r.tree[1] }

// byRank yields the places of nodes that are not hopeless, the lowest rank first, and those
// of one rank in order.
func (r *nodeRanking) byRank(yield func(index int) bool) {
	for rank := r.tree[1]; rank != rankInfeasible; rank = r.nextRank(rank) {
		if !r.yieldRange(1, rank, rank, yield) {
			return
		}
	}
}

// byIndex yields the places of nodes that are not hopeless in order.
func (r *nodeRanking) byIndex(yield func(index int) bool) {
	r.yieldRange(1, rankFits, rankInfeasible-1, yield)
}

// nextRank is the lowest rank above another.
func (r *nodeRanking) nextRank(rank int64) int64 {
	next := int64(rankInfeasible)
	for _, other := range r.tree[r.width:] {
		if other > rank && other < next {
			next = other
		}
	}
	return next
}

func (r *nodeRanking) yieldRange(k int, low, high int64, yield func(index int) bool) bool {
	switch {
	case r.tree[k] > high:
		return true
	case k < r.width:
		return r.yieldRange(2*k, low, high, yield) && r.yieldRange(2*k+1, low, high, yield)
	case r.tree[k] < low:
		return true
	}
	return yield(k - r.width)
}
