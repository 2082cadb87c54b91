package victim

import (
	"math"
	"math/bits"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// rankingKey holds what the rank of a node depends on, besides the node.
type rankingKey struct {
	shape    *feasibility.Shape
	priority int32
}

// The rank of a node is the lowest priority such that the ask fits when all candidates up to that priority are
// released (PRE-58). The most important victim of any plan for the node has at least that priority. These two
// values are no priorities.
const (
	rankFits       = math.MinInt64 // the ask fits without victims, or once the preempting allocations have ended
	rankInfeasible = math.MaxInt64
)

// nodeRanking holds the rank of every node for one kind of ask (shape and priority). It is a tree of minima over the
// indexes of a nodeCache: tree node k has its children at 2k and 2k+1, and the root is 1. So a search finds the nodes
// of the lowest rank without reading all ranks.
type nodeRanking struct {
	tree           []int64
	width          int              // leaves of the tree
	rebuilds       int              // of the node cache, when the tree was filled
	appliedUpdates int              // entries of nodeCache.updates that are in the tree
	free           resources.Vector // scratch
}

// sync updates r from l, for asks like x.
func (r *nodeRanking) sync(l *nodeCache, x *objects.Allocation) {
	if r.rebuilds != l.rebuilds || len(l.updates)-r.appliedUpdates > len(l.nodes) {
		r.fill(l, x)
	}
	s, v := x.Shape(), x.Shape().Vector()
	for _, index := range l.updates[r.appliedUpdates:] {
		k := r.width + index
		r.tree[k] = r.rank(l, index, x, s, v)
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

// fill computes the ranks of all nodes.
func (r *nodeRanking) fill(l *nodeCache, x *objects.Allocation) {
	r.rebuilds, r.appliedUpdates = l.rebuilds, len(l.updates)
	r.width = 1 << bits.Len(uint(max(len(l.nodes)-1, 0)))
	r.tree = slices.Grow(r.tree[:0], 2*r.width)[:2*r.width]
	s, v := x.Shape(), x.Shape().Vector()
	leaves := r.tree[r.width:]
	for index := range leaves {
		leaves[index] = rankInfeasible
		if index < len(l.nodes) {
			leaves[index] = r.rank(l, index, x, s, v)
		}
	}
	for k := r.width - 1; k > 0; k-- {
		r.tree[k] = min(r.tree[2*k], r.tree[2*k+1])
	}
}

// rank computes the rank of the node at index for x, an ask of shape s, which requests v.
func (r *nodeRanking) rank(l *nodeCache, index int, x *objects.Allocation, s *feasibility.Shape,
	v resources.Vector) int64 {
	l.ranked++
	if (s.Constraints() != nil || l.repels[index]) && !s.Admits(l.nodes[index].Constraints()) {
		return rankInfeasible
	}
	level := l.singlePriority[index]
	if level == disturbedNode {
		return r.rankDisturbed(l.nodes[index], &l.summaries[index], x)
	}
	row := l.quantities[2*l.resourceKinds*index:]
	fits := true
	for k, n := range v {
		switch {
		case n <= 0:
		case k >= l.resourceKinds: // the ask of a dry run may request an unknown resource
			return rankInfeasible
		case n > row[k]:
			fits = false
			if resources.SubSaturated(n, row[k]) > row[l.resourceKinds+k] {
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
	c := &l.summaries[index]
	return c.rank(c.available, v)
}

// rankDisturbed returns the rank of a node that is not undisturbed.
func (r *nodeRanking) rankDisturbed(n *objects.Node, c *nodeSummary, x *objects.Allocation) int64 {
	if !n.Schedulable() {
		return rankInfeasible
	}
	r.free = n.FreeAfterPreemption(r.free, x)
	return c.rank(r.free, x.Shape().Vector())
}

// sumCovers reports whether a plus b cover v.
func sumCovers(a, b, v resources.Vector) bool {
	for k, n := range v {
		k := resources.Index(k)
		if n > 0 && resources.SubSaturated(n, a.At(k)) > b.At(k) {
			return false
		}
	}
	return true
}

// rankAt returns the rank of the node at index.
func (r *nodeRanking) rankAt(index int) int64 { return r.tree[r.width+index] }

// lowest returns the lowest rank of all nodes.
func (r *nodeRanking) lowest() int64 { return r.tree[1] }

// byRank yields the indexes of the nodes that are not infeasible by ascending rank, then index.
func (r *nodeRanking) byRank(yield func(index int) bool) {
	for rank := r.tree[1]; rank != rankInfeasible; rank = r.nextRank(rank) {
		if !r.yieldRange(1, rank, rank, yield) {
			return
		}
	}
}

// byIndex yields the indexes of the nodes that are not infeasible in ascending order.
func (r *nodeRanking) byIndex(yield func(index int) bool) {
	r.yieldRange(1, rankFits, rankInfeasible-1, yield)
}

// nextRank returns the lowest rank above rank.
func (r *nodeRanking) nextRank(rank int64) int64 {
	next := int64(rankInfeasible)
	for _, other := range r.tree[r.width:] {
		if other > rank && other < next {
			next = other
		}
	}
	return next
}

// yieldRange yields the indexes below tree node k whose rank is from low to high. It returns false if yield did.
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
