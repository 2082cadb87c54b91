package policies

import (
	"cmp"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// NodeSort says which node is tried first (nodesortpolicy).
type NodeSort uint8

// The node sort policies.
const (
	NodeSortFair       NodeSort = iota // least used first ("fair")
	NodeSortBinPacking                 // most used first ("binpacking")
)

// ParseNodeSort reads nodesortpolicy.type, case-sensitively; empty means fair (V30).
func ParseNodeSort(s string) (n NodeSort, ok bool) {
	switch s {
	case "", "fair":
		return NodeSortFair, true
	case "binpacking":
		return NodeSortBinPacking, true
	}
	return NodeSortFair, false
}

func (n NodeSort) String() string { return [...]string{"fair", "binpacking"}[n] }

// Weight says how much the use of one resource counts in a node's score.
type Weight struct {
	Resource string
	Weight   float64 // above zero
}

// NodeSortPolicy is a node sort policy with its weights, in name order so that sums come
// out the same everywhere (performance.md Q10). Values are immutable.
type NodeSortPolicy struct {
	Sort    NodeSort
	Weights []Weight
}

// DefaultNodeSortPolicy spreads by vcore and memory, which count the same.
func DefaultNodeSortPolicy() NodeSortPolicy {
	return NodeSortPolicy{Sort: NodeSortFair, Weights: []Weight{{"memory", 1}, {resources.VCore, 1}}}
}

// Score is a node's place before ties: lower goes first. available and total give
// the node's quantities of a resource; a total of zero means the node has none of it
// and it does not count (behaviour.md 5.5).
func (o NodeSortPolicy) Score(available, total func(resource string) resources.Quantity) float64 {
	var used, weights float64
	for _, w := range o.Weights {
		if t := total(w.Resource); t != 0 {
			used, weights = AddWeightedUse(used, weights, w.Weight, available(w.Resource), t)
		}
	}
	return o.Sort.Score(used, weights)
}

// AddWeightedUse adds one resource to a node's score. The conversions keep compilers from
// fusing multiply and add, which would round differently on different processors.
func AddWeightedUse(used, weights, weight float64, available, total resources.Quantity) (float64, float64) {
	free := float64(float64(available) / float64(total))
	return float64(used + float64(weight*float64(1-free))), float64(weights + weight)
}

// Score turns summed uses into a score: least used first, or most used first.
func (n NodeSort) Score(used, weights float64) float64 {
	u := 0.0
	if weights > 0 {
		u = used / weights
	}
	if n == NodeSortBinPacking {
		return 1 - u
	}
	return u
}

// NodeKey is all a policy may know about a node.
type NodeKey struct {
	Score float64
	ID    string
}

// CompareNodes orders two nodes: by score, then by ID.
func CompareNodes(a, b *NodeKey) int {
	return cmp.Or(cmp.Compare(a.Score, b.Score), cmp.Compare(a.ID, b.ID))
}
