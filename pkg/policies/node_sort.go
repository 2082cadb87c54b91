package policies

import (
	"cmp"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// NodeSort is the order in which nodes are tried (nodesortpolicy).
type NodeSort uint8

// The node sort policies.
const (
	NodeSortFair       NodeSort = iota // "fair": least used first (ORD-39)
	NodeSortBinPacking                 // "binpacking": most used first (ORD-40)
)

// ParseNodeSort reads nodesortpolicy.type, which is case-sensitive; an empty text means fair. ok is false for an
// unknown name.
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

// Weight is the weight of one resource in the score of a node (ORD-41).
type Weight struct {
	Resource string
	Weight   float64 // above zero
}

// NodeSortPolicy is a node sort policy with its weights. The weights are in the order of resource names, so that
// floating-point sums are the same everywhere (ORD-46). Values are immutable.
type NodeSortPolicy struct {
	Sort    NodeSort
	Weights []Weight
}

// DefaultNodeSortPolicy returns the policy fair by vcore and memory with equal weights.
func DefaultNodeSortPolicy() NodeSortPolicy {
	return NodeSortPolicy{Sort: NodeSortFair, Weights: []Weight{{"memory", 1}, {resources.VCore, 1}}}
}

// Score returns the score of a node; the node with the lower score goes first. available and total return the
// quantities of a resource of the node; a resource that the node lacks does not count (ORD-42).
func (o NodeSortPolicy) Score(available, total func(resource string) resources.Quantity) float64 {
	var used, weights float64
	for _, w := range o.Weights {
		if t := total(w.Resource); t != 0 {
			used, weights = AddWeightedUse(used, weights, w.Weight, available(w.Resource), t)
		}
	}
	return o.Sort.Score(used, weights)
}

// AddWeightedUse adds one resource to the score of a node. The conversions keep compilers from fusing multiply
// and add, which would round differently on different processors (ORD-46).
func AddWeightedUse(used, weights, weight float64, available, total resources.Quantity) (float64, float64) {
	free := float64(float64(available) / float64(total))
	return float64(used + float64(weight*float64(1-free))), float64(weights + weight)
}

// Score returns the score of summed weighted uses: the use for fair, 1 minus the use for binpacking.
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

// NodeKey is the sort key of a node.
type NodeKey struct {
	Score float64
	ID    string
}

// CompareNodes orders two nodes: by score; a tie is broken by ID (ORD-45). The IDs are read only for a tie: each is in
// memory of its own.
func CompareNodes(a, b *NodeKey) int {
	switch {
	case a.Score < b.Score:
		return -1
	case a.Score > b.Score:
		return 1
	case a.Score != b.Score: // at least one is NaN
		if c := cmp.Compare(a.Score, b.Score); c != 0 {
			return c
		}
	}
	return strings.Compare(a.ID, b.ID)
}
