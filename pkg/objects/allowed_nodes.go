package objects

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/affinity"
	"github.com/canopy-scheduler/canopy/pkg/constraints"
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
)

// allowedNodes is, for asks of one kind, the nodes that the constraints on single nodes leave to it, by score and in node
// order, in an index for each domain of the larger topologies that its constraints and preferences are about. So a search
// passes over refused nodes, and over refused and less preferred domains, without a look at each. It is brought up to date
// when it is searched (ADR 67, ADR 70).
type allowedNodes struct {
	kind     searchKind
	division affinity.Division
	version  uint64 // affinity.Check.NodeVersion
	masks    uint64 // allowedNodesCache.masks when the masks in the indexes were up to date
	upTo     uint64 // changes of nodes that are in the indexes, as a position in allowedNodesCache
	usedAt   uint64 // when it was last searched

	order     feasibility.Order[*Node]
	groups    []*nodeGroup
	byDomains map[string]*nodeGroup
	at        []nodePosition // by Node.listIndex
	joining   []*Node        // schedulable nodes that were not in the node order yet
	domains   []int32        // buffer of groupOf
	key       []byte         // buffer of groupOf
}

// searchKind is what asks have in common that have the same allowedNodes.
type searchKind struct {
	check   affinity.Check
	prefers bool             // some nodes may be preferred to others
	nodes   *constraints.Ask // if it prefers: with the preferences on nodes; nil: none but for nodes without soft taints
}

func (k searchKind) same(other searchKind) bool {
	return k.check.Same(other.check) && k.prefers == other.prefers && (k.nodes == other.nodes || k.nodes.ScoreKey() == other.nodes.ScoreKey())
}

// nodeGroup is the nodes of one domain in each topology of a division.
type nodeGroup struct {
	domains []int32
	nodes   []*Node // only while it is filled
	index   feasibility.Index[*Node]
}

// nodePosition is where a node is in allowedNodes.
type nodePosition struct {
	entry feasibility.Entry[*Node]
	group *nodeGroup // nil: none
	score int64      // of what is about the node alone; higher goes first
}

func newAllowedNodes(kind searchKind) *allowedNodes {
	k := &allowedNodes{kind: kind}
	k.order = feasibility.NewOrder(feasibility.Order[*Node]{
		Compare: nodeOrder.Compare, Abbreviate: nodeOrder.Abbreviate,
		Entry: func(n *Node) *feasibility.Entry[*Node] { return &k.at[n.listIndex].entry },
	})
	if kind.prefers {
		k.order.Compare, k.order.Abbreviate = k.compare, k.abbreviate
	}
	return k
}

// compare orders nodes of one group by score, and then as nodes are ordered.
func (k *allowedNodes) compare(a, b *Node) int {
	if x, y := k.at[a.listIndex].score, k.at[b.listIndex].score; x != y {
		if x > y {
			return -1
		}
		return 1
	}
	return nodeOrder.Compare(a, b)
}

// abbreviate is the abbreviated key for compare: 16 bits of the score before 48 of the node order. Scores too far from 0 for
// these share one key.
func (k *allowedNodes) abbreviate(n *Node) uint64 {
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
func (k *allowedNodes) has(n *Node) bool {
	return n.schedulable && n.entry.Indexed() && k.kind.check.NodeAllowed(n.tracked)
}

// note lists n as joining if it is schedulable and not in the node order yet.
func (k *allowedNodes) note(n *Node) {
	if n.schedulable && !n.entry.Indexed() {
		k.joining = append(k.joining, n)
	}
}

// fill makes k anew from all nodes. They are visited in node order, so that little is left to sort.
func (k *allowedNodes) fill(o *ordering, nodes int) {
	k.at, k.groups, k.byDomains, k.joining = make([]nodePosition, nodes), nil, map[string]*nodeGroup{}, nil
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
		if k.kind.prefers {
			slices.SortStableFunc(g.nodes, func(a, b *Node) int { return cmp.Compare(k.at[b.listIndex].score, k.at[a.listIndex].score) })
		}
		g.index.Fill(g.nodes)
		g.nodes = nil
	}
}

// position finds the group and the score of n, and makes its entry that of n.
func (k *allowedNodes) position(n *Node) *nodeGroup {
	p := &k.at[n.listIndex]
	p.entry.Mask, p.group = n.entry.Mask, k.groupOf(n)
	if k.kind.prefers {
		p.score = k.kind.nodes.Score(n.info) + k.kind.check.NodeScore(n.tracked)
	}
	return p.group
}

// groupOf finds or makes the group of n.
func (k *allowedNodes) groupOf(n *Node) *nodeGroup {
	k.domains = k.division.AppendDomains(k.domains[:0], n.tracked)
	k.key = k.key[:0]
	for _, domain := range k.domains {
		k.key = binary.LittleEndian.AppendUint32(k.key, uint32(domain))
	}
	g := k.byDomains[string(k.key)]
	if g == nil {
		g = &nodeGroup{domains: append([]int32(nil), k.domains...), index: feasibility.Index[*Node]{Order: &k.order}}
		k.byDomains[string(k.key)] = g
		k.groups = append(k.groups, g)
	}
	return g
}

// update brings k up to date with nodes that changed, and with the masks of all if these have another shape. All nodes that
// changed are removed before one is added again: where a node belongs in an index follows from the others.
func (k *allowedNodes) update(changed []*Node, o *ordering, otherMasks bool) {
	for _, n := range changed {
		if p := &k.at[n.listIndex]; p.group != nil {
			p.group.index.Reindex(n, false)
			p.group = nil
		}
	}
	if otherMasks {
		k.refreshMasks(o)
	}
	k.joining = nil
	for _, n := range changed {
		if k.at[n.listIndex].group != nil {
			continue
		}
		if k.note(n); k.has(n) {
			k.position(n).index.Reindex(n, true)
		}
	}
}

// refreshMasks brings the masks in the indexes up to date with those of the nodes.
func (k *allowedNodes) refreshMasks(o *ordering) {
	for n := range o.schedulable.All {
		k.at[n.listIndex].entry.Mask = n.entry.Mask
	}
	for _, g := range k.groups {
		g.index.RebuildMasks()
	}
}

// first is the node with the highest score, and of these the first in node order, that fits s and that c allows; nil: there
// is none. In each group that is not refused it is the first that fits, unless further constraints refuse that.
func (k *allowedNodes) first(s *feasibility.Shape, c *NodeCheck) *Node {
	var best scoredNode
	for _, g := range k.groups {
		n, some := g.index.First(s.Mask())
		if !some {
			continue
		}
		bonus := c.check.DomainScore(k.division, g.domains)
		x := k.scored(n, bonus)
		if !x.before(best) || !c.check.DomainAllowed(k.division, g.domains) {
			continue
		}
		if n.Fits(s) && c.Allows(n) {
			best = x
		} else if x = k.firstAllowedIn(g, s, c, bonus, best); x.node != nil {
			best = x
		}
	}
	return best.node
}

// firstAllowedIn is the first node of g that fits s and that c allows, if it comes before another one; none: any.
func (k *allowedNodes) firstAllowedIn(g *nodeGroup, s *feasibility.Shape, c *NodeCheck, bonus int64, other scoredNode) scoredNode {
	for n := range g.index.EachWithSlot(s.Slot()) {
		x := k.scored(n, bonus)
		if !x.before(other) {
			break
		}
		if n.Fits(s) && c.Allows(n) {
			return x
		}
	}
	return scoredNode{}
}

func (k *allowedNodes) scored(n *Node, bonus int64) scoredNode {
	return scoredNode{n, k.at[n.listIndex].score + bonus}
}
