package objects

import (
	"cmp"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Node is a machine work can run on.
type Node struct {
	id          NodeID
	schedulable bool
	key         policies.NodeKey // as it stands in the node order
	entry       entry[*Node]     // in Partition.schedulableNodes, if it is schedulable, else in Partition.unschedulableNodes; what it can is what fits

	total           resources.Vector // what the RM says it has
	allocated       resources.Vector // held by our allocations
	occupied        resources.Vector // held by foreign allocations
	available       resources.Vector // total - allocated - occupied; negative after a shrink
	heldForNominees resources.Vector // of available, for nominees
	nominees        []*Allocation    // the asks that are nominated for the node, the oldest nomination first
	preempting      []*Allocation    // what was told to leave, in that order
	changeRecorded  bool             // it is in Partition.watch
	listIndex       int32            // in Partition.nodeList
	inChangedNodes  bool             // it is in Partition.changedNodes
	allocations     allocationList
	buffers         nodeBuffers

	attributes map[string]string
	foreign    map[AllocationKey]*Foreign
}

// nodeBuffers is for a node what queueBuffers is for a queue.
type nodeBuffers struct {
	total, allocated, available [shortVector]resources.Quantity
	mask                        [shortMask]uint64
}

func newNode(id NodeID, attributes map[string]string) *Node {
	n := &Node{id: id, attributes: attributes, foreign: map[AllocationKey]*Foreign{}}
	n.key.ID, n.entry.item, n.entry.mask = string(id), n, n.buffers.mask[:0]
	n.total, n.allocated, n.available = n.buffers.total[:0], n.buffers.allocated[:0], n.buffers.available[:0]
	return n
}

// ID is the name the RM gave the node.
func (n *Node) ID() NodeID { return n.id }

// Attributes are what the RM said about the node. Read-only.
func (n *Node) Attributes() map[string]string { return n.attributes }

// Schedulable is false while the node drains.
func (n *Node) Schedulable() bool { return n.schedulable }

// Total is what the node has, in use or not. Read-only.
func (n *Node) Total() resources.Vector { return n.total }

// Allocated is what our allocations hold. Read-only.
func (n *Node) Allocated() resources.Vector { return n.allocated }

// Occupied is what foreign allocations hold. Read-only.
func (n *Node) Occupied() resources.Vector { return n.occupied }

// Available is what is left; it can be negative after the RM shrank the node. Read-only.
func (n *Node) Available() resources.Vector { return n.available }

// Score is the node's place in the node order; lower is tried first.
func (n *Node) Score() float64 { return n.key.Score }

// Fits reports whether an ask of shape s could be placed here now.
func (n *Node) Fits(s *Shape) bool { return n.Accepts(s) && n.hasFree(s.vector) }

// Accepts reports whether an ask of shape s may be placed here, whatever the room. An ask that
// requires the node may although the node drains (behaviour.md 5.6): else a cordoned node would
// get no pods of DaemonSets.
func (n *Node) Accepts(s *Shape) bool {
	if s.required != "" {
		return s.required == n.id
	}
	return n.schedulable || s.pinned
}

// Allocations are the allocations on the node in key order. It is made on every call.
func (n *Node) Allocations() []*Allocation {
	return n.allocations.sorted()
}

// Foreign are the foreign allocations on the node in key order. It is made on every call.
func (n *Node) Foreign() []*Foreign {
	out := make([]*Foreign, 0, len(n.foreign))
	for _, f := range n.foreign {
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b *Foreign) int { return cmp.Compare(a.Key, b.Key) })
	return out
}

// Foreign is node usage that is not ours: it takes room and counts nowhere else
// (behaviour.md 10.9). It never changes; a new report replaces it.
type Foreign struct {
	Key     AllocationKey
	Node    NodeID
	Amounts resources.Amounts
	Static  bool // will never be asked to leave
	Tags    map[string]string
}

// nodeScorer is a node order with the weighted resources as kinds.
type nodeScorer struct {
	nodes   policies.NodeSort
	weights []kindWeight // in name order
}

type kindWeight struct {
	kind   resources.Index
	weight float64
}

// applyNodeOrder puts the node order of the configuration in force.
func (p *Partition) applyNodeOrder() {
	before := p.nodeScorer
	p.nodeScorer = nodeScorer{nodes: p.conf.NodeSortPolicy.Sort}
	for _, w := range p.conf.NodeSortPolicy.Weights {
		p.nodeScorer.weights = append(p.nodeScorer.weights, kindWeight{p.names.HoldName(w.Resource, resources.Cluster), w.Weight})
	}
	for _, w := range before.weights {
		p.names.ReleaseIndex(w.kind, resources.Cluster)
	}
}

// score is policies.NodeSortPolicy.Score over kinds.
func (s nodeScorer) score(n *Node) float64 {
	var used, weights float64
	for _, w := range s.weights {
		if t := n.total.At(w.kind); t != 0 {
			used, weights = policies.AddWeightedUse(used, weights, w.weight, n.available.At(w.kind), t)
		}
	}
	return s.nodes.Score(used, weights)
}
