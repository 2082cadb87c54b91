package nodeselection

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/affinity"
	"github.com/canopy-scheduler/canopy/pkg/constraints"
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// groupedNodes is the nodes of the node order in groups with equal values of some labels and the same taints with
// PreferNoSchedule, each group in an index. So a search passes over refused and less preferred domains without a look
// at their nodes. It is brought up to date when it is searched (ADR 67, ADR 70).
//
// Kinds of asks with constraints on the same labels share one. What constraints and preferences say of single nodes, a
// search reads of the nodes that it looks at, which are few. A kind for which it looked at many gets one of its own:
// only with nodes that its constraints on single nodes allow, and ordered by score before node order.
type groupedNodes struct {
	labels  []string    // that divide the nodes into groups
	kind    *searchKind // nil: shared
	version uint64      // of an own one: affinity.Check.NodeVersion
	masks   uint64      // groupedNodesCache.masks when the masks in the indexes were up to date
	upTo    uint64      // changes of nodes that are in the indexes, as a position in groupedNodesCache
	usedAt  uint64      // when it was last searched

	order    feasibility.Order[*objects.Node]
	groups   []*nodeGroup
	byValues map[string]*nodeGroup
	at       []nodePosition // by Node.ListIndex; nil: it is to be filled
	key      []byte         // buffer of groupOf
}

// searchKind has what asks have in common for which all searches find the same node, if it fits them.
type searchKind struct {
	check   affinity.Check
	prefers bool             // some nodes may be preferred to others
	nodes   *constraints.Ask // if it prefers: with the preferences on nodes; nil: none but for nodes without soft taints
}

func (k *searchKind) same(other *searchKind) bool {
	return k.check.Same(other.check) && k.prefers == other.prefers &&
		(k.nodes == other.nodes || k.nodes.ScoreKey() == other.nodes.ScoreKey())
}

// nodeGroup is the nodes with equal values of the labels.
type nodeGroup struct {
	nodes []*objects.Node // only while it is filled
	index feasibility.Index[*objects.Node]
}

// nodePosition says where a node is in groupedNodes.
type nodePosition struct {
	entry feasibility.Entry[*objects.Node]
	group *nodeGroup // nil: it was never in one; follows from the labels of the node
	score int64      // of an own one: of what is about the node alone; higher goes first
}

func newGroupedNodes(labels []string, kind *searchKind) *groupedNodes {
	k := &groupedNodes{labels: slices.Clone(labels), kind: kind}
	k.order = feasibility.NewOrder(feasibility.Order[*objects.Node]{
		Compare: objects.CompareNodes, Abbreviate: (*objects.Node).AbbreviatedKey,
		Entry: func(n *objects.Node) *feasibility.Entry[*objects.Node] { return &k.at[n.ListIndex()].entry },
	})
	if kind != nil && kind.prefers {
		k.order.Compare, k.order.Abbreviate = k.compare, k.abbreviate
	}
	return k
}

// compare orders nodes of one group by score, and then as nodes are ordered.
func (k *groupedNodes) compare(a, b *objects.Node) int {
	if x, y := k.at[a.ListIndex()].score, k.at[b.ListIndex()].score; x != y {
		if x > y {
			return -1
		}
		return 1
	}
	return objects.CompareNodes(a, b)
}

// abbreviate is the abbreviated key for compare: 16 bits of the score before 48 of the node order. Scores too far from
// 0 for these share one key.
func (k *groupedNodes) abbreviate(n *objects.Node) uint64 {
	const bits = 16
	switch level := 1<<(bits-1) - k.at[n.ListIndex()].score; {
	case level <= 0:
		return 0
	case level >= 1<<bits-1:
		return (1<<bits - 1) << (64 - bits)
	default:
		return uint64(level)<<(64-bits) | n.AbbreviatedKey()>>bits
	}
}

// has reports whether n belongs into k.
func (k *groupedNodes) has(n *objects.Node) bool {
	return n.Schedulable() && n.InOrder() && (k.kind == nil || k.kind.check.NodeAllowed(n.AffinityNode))
}

// fill makes k anew from all nodes. They are visited in node order, so that little is left to sort.
func (k *groupedNodes) fill(p *objects.Partition) {
	k.at, k.groups, k.byValues = make([]nodePosition, objects.NodeCount(p)), nil, map[string]*nodeGroup{}
	for n := range p.EachInOrder {
		if k.has(n) {
			g := k.position(n)
			g.nodes = append(g.nodes, n)
		}
	}
	for _, g := range k.groups {
		g.index.Fill(g.nodes)
		g.nodes = nil
	}
}

// position finds the group and the score of n, and makes its entry that of n.
func (k *groupedNodes) position(n *objects.Node) *nodeGroup {
	p := &k.at[n.ListIndex()]
	p.entry.Mask = n.FittingShapes()
	if p.group == nil {
		p.group = k.groupOf(n)
	}
	if k.kind != nil && k.kind.prefers {
		p.score = k.kind.nodes.Score(n.Constraints()) + k.kind.check.NodeScore(n.AffinityNode)
	}
	return p.group
}

// groupOf finds or makes the group of n.
func (k *groupedNodes) groupOf(n *objects.Node) *nodeGroup {
	k.key = n.Constraints().AppendGroup(k.key[:0], k.labels)
	g := k.byValues[string(k.key)]
	if g == nil {
		g = &nodeGroup{index: feasibility.Index[*objects.Node]{Order: &k.order}}
		k.byValues[string(k.key)] = g
		k.groups = append(k.groups, g)
	}
	return g
}

// update brings k up to date with nodes that changed, and with the masks of all if these have another shape. All nodes
// that changed are removed before one is added again: where a node belongs in an index follows from the others.
func (k *groupedNodes) update(changed []*objects.Node, p *objects.Partition, otherMasks bool) {
	for _, n := range changed {
		if p := &k.at[n.ListIndex()]; p.entry.Indexed() {
			p.group.index.Reindex(n, false)
		}
	}
	if otherMasks {
		k.refreshMasks(p)
	}
	for _, n := range changed {
		if !k.at[n.ListIndex()].entry.Indexed() && k.has(n) {
			k.position(n).index.Reindex(n, true)
		}
	}
}

// refreshMasks brings the masks in the indexes up to date with those of the nodes.
func (k *groupedNodes) refreshMasks(p *objects.Partition) {
	for n := range p.EachInOrder {
		k.at[n.ListIndex()].entry.Mask = n.FittingShapes()
	}
	for _, g := range k.groups {
		g.index.RebuildMasks()
	}
}

// first returns the best node that fits the ask of c and that c allows: the highest score decides, then the node order.
// looked counts the groups and nodes that it looked at. drawn is the best of the nodes that affinity.Check.Drawing
// yields; no other node has a higher score than its group gives, so the walk through a group ends where that does not
// beat the best node so far.
func (k *groupedNodes) first(c *Check, drawn scoredNode) (best scoredNode, looked int) {
	s := c.shape
	best, looked = drawn, len(k.groups)
	for _, g := range k.groups {
		n, some := g.index.First(s.Mask())
		if !some {
			continue
		}
		score := int64(0)
		if c.prefers {
			score = c.check.DomainScore(n.AffinityNode)
		}
		if c.prefers && k.kind == nil {
			score += s.Constraints().Score(n.Constraints())
		}
		if !k.highest(n, score).before(best) || !c.check.DomainAllowed(n.AffinityNode, k.labels) {
			continue
		}
		for n := range g.index.EachWithSlot(s.Slot()) {
			x := k.highest(n, score)
			if !x.before(best) {
				break
			}
			looked++
			if c.prefers && k.kind == nil {
				x.score += c.check.NodeScore(n.AffinityNode)
			}
			if x.before(best) && n.Fits(s) && c.Allows(n) {
				best = x
			}
		}
	}
	return best, looked
}

// highest returns n with the highest score that it, and the nodes behind it in its group, can have.
func (k *groupedNodes) highest(n *objects.Node, scoreOfGroup int64) scoredNode {
	return scoredNode{n, k.at[n.ListIndex()].score + scoreOfGroup}
}
