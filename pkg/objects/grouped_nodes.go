package objects

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/affinity"
	"github.com/canopy-scheduler/canopy/pkg/constraints"
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
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

	order    feasibility.Order[*Node]
	groups   []*nodeGroup
	byValues map[string]*nodeGroup
	at       []nodePosition // by Node.listIndex; nil: it is to be filled
	joining  []*Node        // schedulable nodes that were not in the node order yet
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
	nodes []*Node // only while it is filled
	index feasibility.Index[*Node]
}

// nodePosition says where a node is in groupedNodes.
type nodePosition struct {
	entry feasibility.Entry[*Node]
	group *nodeGroup // nil: it was never in one; follows from the labels of the node
	score int64      // of an own one: of what is about the node alone; higher goes first
}

func newGroupedNodes(labels []string, kind *searchKind) *groupedNodes {
	k := &groupedNodes{labels: slices.Clone(labels), kind: kind}
	k.order = feasibility.NewOrder(feasibility.Order[*Node]{
		Compare: nodeOrder.Compare, Abbreviate: nodeOrder.Abbreviate,
		Entry: func(n *Node) *feasibility.Entry[*Node] { return &k.at[n.listIndex].entry },
	})
	if kind != nil && kind.prefers {
		k.order.Compare, k.order.Abbreviate = k.compare, k.abbreviate
	}
	return k
}

// compare orders nodes of one group by score, and then as nodes are ordered.
func (k *groupedNodes) compare(a, b *Node) int {
	if x, y := k.at[a.listIndex].score, k.at[b.listIndex].score; x != y {
		if x > y {
			return -1
		}
		return 1
	}
	return nodeOrder.Compare(a, b)
}

// abbreviate is the abbreviated key for compare: 16 bits of the score before 48 of the node order. Scores too far from
// 0 for these share one key.
func (k *groupedNodes) abbreviate(n *Node) uint64 {
	const bits = 16
	switch level := 1<<(bits-1) - k.at[n.listIndex].score; {
	case level <= 0:
		return 0
	case level >= 1<<bits-1:
		return (1<<bits - 1) << (64 - bits)
	default:
		return uint64(level)<<(64-bits) | nodeOrder.Abbreviate(n)>>bits
	}
}

// has reports whether n belongs into k.
func (k *groupedNodes) has(n *Node) bool {
	return n.schedulable && n.entry.Indexed() && (k.kind == nil || k.kind.check.NodeAllowed(n.tracked))
}

// note lists n as joining if it is schedulable and not in the node order yet.
func (k *groupedNodes) note(n *Node) {
	if n.schedulable && !n.entry.Indexed() {
		k.joining = append(k.joining, n)
	}
}

// fill makes k anew from all nodes. They are visited in node order, so that little is left to sort.
func (k *groupedNodes) fill(o *ordering, nodes int) {
	k.at, k.groups, k.byValues, k.joining = make([]nodePosition, nodes), nil, map[string]*nodeGroup{}, nil
	for _, n := range o.joining {
		k.note(n)
	}
	for n := range o.schedulable.All {
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
func (k *groupedNodes) position(n *Node) *nodeGroup {
	p := &k.at[n.listIndex]
	p.entry.Mask = n.entry.Mask
	if p.group == nil {
		p.group = k.groupOf(n)
	}
	if k.kind != nil && k.kind.prefers {
		p.score = k.kind.nodes.Score(n.info) + k.kind.check.NodeScore(n.tracked)
	}
	return p.group
}

// groupOf finds or makes the group of n.
func (k *groupedNodes) groupOf(n *Node) *nodeGroup {
	k.key = n.info.AppendGroup(k.key[:0], k.labels)
	g := k.byValues[string(k.key)]
	if g == nil {
		g = &nodeGroup{index: feasibility.Index[*Node]{Order: &k.order}}
		k.byValues[string(k.key)] = g
		k.groups = append(k.groups, g)
	}
	return g
}

// update brings k up to date with nodes that changed, and with the masks of all if these have another shape. All nodes
// that changed are removed before one is added again: where a node belongs in an index follows from the others.
func (k *groupedNodes) update(changed []*Node, o *ordering, otherMasks bool) {
	for _, n := range changed {
		if p := &k.at[n.listIndex]; p.entry.Indexed() {
			p.group.index.Reindex(n, false)
		}
	}
	if otherMasks {
		k.refreshMasks(o)
	}
	k.joining = nil
	for _, n := range changed {
		if k.at[n.listIndex].entry.Indexed() {
			continue
		}
		k.note(n)
		if k.has(n) {
			k.position(n).index.Reindex(n, true)
		}
	}
}

// refreshMasks brings the masks in the indexes up to date with those of the nodes.
func (k *groupedNodes) refreshMasks(o *ordering) {
	for n := range o.schedulable.All {
		k.at[n.listIndex].entry.Mask = n.entry.Mask
	}
	for _, g := range k.groups {
		g.index.RebuildMasks()
	}
}

// first returns the best node that fits s and that c allows: the highest score decides, then the node order. looked
// counts the groups and nodes that it looked at. drawn is the best of the nodes that affinity.Check.Drawing yields; no
// other node has a higher score than its group gives, so the walk through a group ends where that does not beat the
// best node so far.
func (k *groupedNodes) first(s *feasibility.Shape, c *NodeCheck, drawn scoredNode) (best scoredNode, looked int) {
	best, looked = drawn, len(k.groups)
	for _, g := range k.groups {
		n, some := g.index.First(s.Mask())
		if !some {
			continue
		}
		score := int64(0)
		if c.prefers {
			score = c.check.DomainScore(n.tracked)
		}
		if c.prefers && k.kind == nil {
			score += s.Constraints().Score(n.info)
		}
		if !k.highest(n, score).before(best) || !c.check.DomainAllowed(n.tracked, k.labels) {
			continue
		}
		for n := range g.index.EachWithSlot(s.Slot()) {
			x := k.highest(n, score)
			if !x.before(best) {
				break
			}
			looked++
			if c.prefers && k.kind == nil {
				x.score += c.check.NodeScore(n.tracked)
			}
			if x.before(best) && n.Fits(s) && c.Allows(n) {
				best = x
			}
		}
	}
	return best, looked
}

// highest returns n with the highest score that it, and the nodes behind it in its group, can have.
func (k *groupedNodes) highest(n *Node, scoreOfGroup int64) scoredNode {
	return scoredNode{n, k.at[n.listIndex].score + scoreOfGroup}
}
