package objects

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/affinity"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/constraints"
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Node is a node of the resource manager.
//
// The fields that decisions read come first, in groups of 64 bytes that are read together.
type Node struct {
	schedulable    bool
	repels         bool                     // by info: an ask without constraints may be kept away
	cordoned       bool                     // by an operator
	draining       bool                     // an operator drains it: its allocations are preempted (OPS-10)
	registered     bool                     // in the partition
	changeRecorded bool                     // in snapshotChanges.watch
	overcommitted  bool                     // Overcommitted, as TakeOvercommitChanges has returned it last
	listIndex      int32                    // in objectLists.nodes
	key            policies.NodeKey         // in the node order; with the ID
	entry          feasibility.Entry[*Node] // in ordering.schedulable or unschedulable; its mask has the shapes that fit

	available resources.Vector  // total less allocated and occupied; can be negative (NOD-17)
	allocated resources.Vector  // used by allocations
	info      *constraints.Node // of attributes

	buffers nodeBuffers

	total       resources.Vector // capacity
	extra       *nodeExtra       // noNodeExtra: there never was one
	rejected    feasibility.Mask // shapes whose constraints do not admit info
	allocations allocationList

	occupied   resources.Vector // used by foreign allocations
	attributes map[string]string
	foreign    map[AllocationKey]*Foreign // nil: there never was one

	// the node as package nodeselection tracks it, which keeps this; nil: it tracks nothing
	AffinityNode *affinity.Node
}

// nodeBuffers is the storage of short vectors and masks, as appBuffers.
type nodeBuffers struct {
	available, allocated, total [shortVector]resources.Quantity
	mask                        [shortMask]uint64
}

// newNode returns a node without resources. An attribute that cannot be read is an error.
func newNode(id NodeID, attributes map[string]string) (*Node, error) {
	info, err := constraints.NewNode(string(id), attributes)
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", id, err)
	}
	n := &Node{extra: &noNodeExtra}
	n.setInfo(attributes, info)
	n.key.ID, n.entry.Mask = string(id), n.buffers.mask[:0]
	n.total, n.allocated, n.available = n.buffers.total[:0], n.buffers.allocated[:0], n.buffers.available[:0]
	return n, nil
}

// ID is the ID that the RM has chosen.
func (n *Node) ID() NodeID { return NodeID(n.key.ID) }

// Attributes are the attributes that the RM has sent. Read-only.
func (n *Node) Attributes() map[string]string { return n.attributes }

// Schedulable is false while the node is unschedulable: it takes only asks that require it (NOD-9).
func (n *Node) Schedulable() bool { return n.schedulable }

// Total is the capacity of the node. Read-only.
func (n *Node) Total() resources.Vector { return n.total }

// Allocated returns what the allocations on the node use. Read-only.
func (n *Node) Allocated() resources.Vector { return n.allocated }

// Occupied returns what the foreign allocations on the node use. Read-only.
func (n *Node) Occupied() resources.Vector { return n.occupied }

// Available is the capacity less allocated and occupied; it can be negative (NOD-17). Read-only.
func (n *Node) Available() resources.Vector { return n.available }

// Overcommitted reports whether the allocations on the node, foreign ones included, exceed its capacity (NOD-17).
func (n *Node) Overcommitted() bool { return n.available.HasNegative() }

// ListIndex is the index of the node among all, from 0. The removal of a node changes that of another.
func (n *Node) ListIndex() int { return int(n.listIndex) }

// InOrder reports whether the node is among those of Partition.EachInOrder, or is unschedulable and fits an ask that
// requires it.
func (n *Node) InOrder() bool { return n.entry.Indexed() }

// FittingShapes are the shapes that fit the node. Read-only.
func (n *Node) FittingShapes() feasibility.Mask { return n.entry.Mask }

// AbbreviatedKey orders as the beginning of CompareNodes.
func (n *Node) AbbreviatedKey() uint64 { return n.key.Abbreviate() }

// Score is the score of the node in the node order; the lowest goes first.
func (n *Node) Score() float64 { return n.key.Score }

// Fits reports whether an ask of shape s can be placed here now (NOD-25).
func (n *Node) Fits(s *feasibility.Shape) bool { return n.Accepts(s) && n.hasFree(s.Vector()) }

// Accepts reports whether an ask of shape s may be placed here if there are enough free resources.
func (n *Node) Accepts(s *feasibility.Shape) bool { return n.acceptsIf(n.schedulable, s) }

// acceptsIf is Accepts if n were schedulable or not.
func (n *Node) acceptsIf(schedulable bool, s *feasibility.Shape) bool {
	if n.admitsAtOnce(s) {
		return schedulable
	}
	return s.AcceptsNode(n.info, schedulable)
}

// admits reports whether the constraints of an ask of s admit n.
func (n *Node) admits(s *feasibility.Shape) bool { return n.admitsAtOnce(s) || s.Admits(n.info) }

// admitsAtOnce reports whether an ask of s requires nothing of n and n refuses nothing. That is so for most asks and
// nodes, and then nothing else is read of the node.
func (n *Node) admitsAtOnce(s *feasibility.Shape) bool { return s.Unconstrained() && !n.repels }

// setInfo sets the attributes, and what constraints read of them.
func (n *Node) setInfo(attributes map[string]string, info *constraints.Node) {
	n.attributes, n.info, n.repels = attributes, info, info.Repels()
}

// Constraints returns what the constraints of asks read of the node. Read-only.
func (n *Node) Constraints() *constraints.Node { return n.info }

// Allocations are the allocations on the node in key order, in a new slice.
func (n *Node) Allocations() []*Allocation {
	return n.allocations.sorted()
}

// AllocationCount is the number of allocations on the node.
func (n *Node) AllocationCount() int { return len(n.allocations) }

// EachAllocation yields the allocations on the node, in no order.
func (n *Node) EachAllocation(yield func(*Allocation) bool) {
	for _, x := range n.allocations {
		if !yield(x) {
			return
		}
	}
}

// InPreemption reports whether what a preemptor may use of n depends on its priority, or will grow: n has preempting
// allocations, nominees or reservations.
func (n *Node) InPreemption() bool {
	return len(n.extra.preempting) > 0 || len(n.extra.nominees) > 0 || len(n.extra.reserved) > 0
}

// HeldForReplacement reports whether resources of n are held for asks that replace placeholders on other nodes (GAN-7).
func (n *Node) HeldForReplacement() bool { return len(n.extra.replacing) > 0 }

// Foreign are the foreign allocations on the node in key order, in a new slice.
func (n *Node) Foreign() []*Foreign {
	out := make([]*Foreign, 0, len(n.foreign))
	for _, f := range n.foreign {
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b *Foreign) int { return cmp.Compare(a.Key, b.Key) })
	return out
}

// Foreign is a foreign allocation: it takes resources of a node and counts nowhere else (ASK-54).
// It is immutable; a new report replaces it (ASK-56).
type Foreign struct {
	Key     AllocationKey
	Node    NodeID
	Amounts resources.Amounts
	Static  bool // of a static pod
	Tags    map[string]string

	// its report, if it is an orphaned allocation of this scheduler (ASK-67); nil in commands
	Orphan *Orphan `recording:"-"`
}

// nodeScorer scores nodes by the weights of resource indexes.
type nodeScorer struct {
	nodes   policies.NodeSort
	weights []resourceWeight // in name order
}

type resourceWeight struct {
	resource resources.Index
	weight   float64
}

// applyNodeOrder applies the node order of the configuration.
func (o *ordering) applyNodeOrder(conf *configs.Partition) {
	before := o.scorer
	o.scorer = nodeScorer{nodes: conf.NodeSortPolicy.Sort}
	for _, w := range conf.NodeSortPolicy.Weights {
		o.scorer.weights = append(o.scorer.weights, resourceWeight{o.names.HoldName(w.Resource, resources.Cluster), w.Weight})
	}
	for _, w := range before.weights {
		o.names.ReleaseIndex(w.resource, resources.Cluster)
	}
}

// score is policies.NodeSortPolicy.Score for resource indexes.
func (s nodeScorer) score(n *Node) float64 {
	var used, weights float64
	for _, w := range s.weights {
		if t := n.total.At(w.resource); t != 0 {
			used, weights = policies.AddWeightedUse(used, weights, w.weight, n.available.At(w.resource), t)
		}
	}
	return s.nodes.Score(used, weights)
}

// nodeExtra holds what asks have on a node without being placed there, and what is marked for preemption. Few nodes
// have any.
type nodeExtra struct {
	held       resources.Vector // of available, for nominees, replacing and reserved
	nominees   []*Allocation    // asks nominated for the node, oldest nomination first
	preempting []*Allocation    // marked for preemption and not overdue, in the order of their marks
	replacing  []*Allocation    // asks that will be placed here when a placeholder of another node has ended
	reserved   []*Allocation    // asks that have reserved the node, oldest reservation first
}

// noNodeExtra is the shared zero value; it must not be modified.
var noNodeExtra nodeExtra

// ownExtra returns the nodeExtra of n for modification.
func (n *Node) ownExtra() *nodeExtra {
	if n.extra == &noNodeExtra {
		n.extra = &nodeExtra{}
	}
	return n.extra
}

// CompareNodes is negative if a comes before b in node order.
func CompareNodes(a, b *Node) int { return nodeOrder.Compare(a, b) }
