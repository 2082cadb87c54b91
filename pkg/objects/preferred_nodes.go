package objects

import (
	"cmp"
	"iter"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/feasibility"
)

// An ask may prefer some of the nodes that it may be placed on: by its preferences, or because others have a taint with
// PreferNoSchedule. The score of a node says how much; of equal scores the first in node order is taken (CON-28).

// scoredNode is a node and its score. The zero value is none.
type scoredNode struct {
	node  *Node
	score int64
}

// before reports whether x is tried before y.
func (x scoredNode) before(y scoredNode) bool {
	if y.node == nil || x.score != y.score {
		return y.node == nil || x.score > y.score
	}
	return nodeOrder.Compare(x.node, y.node) < 0
}

// WithoutPreferences is c for a search that takes nodes in node order.
func (c NodeCheck) WithoutPreferences() NodeCheck {
	c.prefers = false
	return c
}

// score is the score of n for the ask of c, whose shape is s.
func (c *NodeCheck) score(s *feasibility.Shape, n *Node) int64 {
	return s.Constraints().Score(n.info) + c.check.ScoreWithout(n.tracked, c.gone)
}

// Allowed yields those of all, nodes in node order, that c leaves to its ask, whose shape is s. The most preferred come
// first; to find these it looks at all.
func (c NodeCheck) Allowed(s *feasibility.Shape, all iter.Seq[*Node]) iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		var scored []scoredNode
		for n := range all {
			switch {
			case !c.Allows(n):
			case c.prefers:
				scored = append(scored, scoredNode{n, c.score(s, n)})
			case !yield(n):
				return
			}
		}
		slices.SortStableFunc(scored, func(a, b scoredNode) int { return cmp.Compare(b.score, a.score) })
		for _, x := range scored {
			if !yield(x.node) {
				return
			}
		}
	}
}

// allowedByPreference is AllowedNodes for a check that prefers some nodes. The first is found without a look at all.
func (l AffinityLedger) allowedByPreference(s *feasibility.Shape, c NodeCheck) iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		first := l.firstPreferred(s, &c)
		if first == nil || !yield(first) {
			return
		}
		for n := range c.Allowed(s, l.p.FittingNodes(s)) {
			if n != first && !yield(n) {
				return
			}
		}
	}
}

// firstPreferred is FirstAllowedNode for a check that prefers some nodes. Only a search without what is taken to be gone
// looks at all nodes.
func (l AffinityLedger) firstPreferred(s *feasibility.Shape, c *NodeCheck) *Node {
	if l.p.FirstFittingNode(s) == nil {
		return nil
	}
	if len(c.gone) > 0 {
		for n := range c.Allowed(s, l.p.FittingNodes(s)) {
			return n
		}
		return nil
	}
	a, kind := &l.p.journal.affinity, searchKind{check: c.check, prefers: true, nodes: s.Constraints()}
	k := l.allowedNodesOf(kind)
	if k == nil {
		a.allowed.keep(kind, len(a.nodes.all))
		k = l.allowedNodesOf(kind)
	}
	return k.first(s, c)
}
