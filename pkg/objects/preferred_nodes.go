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

// firstPreferred is FirstAllowedNode for a check that prefers some nodes. Only a search without what is taken to be
// gone looks at all nodes.
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
	if k := l.ownGroups(s, c); k != nil {
		best, _ := k.first(s, c, scoredNode{})
		return best.node
	}
	return l.searchGroups(s, c)
}

// lookedPerRefusal times affinityChanges.maxRefused groups and nodes are what a search may look at before its kind gets
// groupedNodes of its own. These cost more than a short walk: each of its searches applies the changes of all others
// before.
const lookedPerRefusal = 4

// searchGroups returns the first node of AllowedNodes, from the groups of nodes that kinds share.
func (l AffinityLedger) searchGroups(s *feasibility.Shape, c *NodeCheck) *Node {
	a := &l.p.journal.affinity
	labels := c.check.AppendDivision(a.grouped.labels[:0], c.prefers)
	topologies := len(labels)
	var drawn scoredNode
	drawing := 0
	if c.prefers {
		labels = s.Constraints().AppendScoreLabels(labels)
		drawn, drawing = l.bestDrawing(s, c)
	}
	best, looked := a.grouped.sharedBy(labels, &l.p.journal.order, len(a.nodes.all)).first(s, c, drawn)
	if drawing+looked > lookedPerRefusal*a.maxRefused {
		a.grouped.keep(kindOf(s, c), labels[:topologies])
	}
	a.grouped.labels = labels
	return best.node
}

// bestDrawing returns the best of the nodes that affinity.Check.Drawing yields for c, and how many there are.
func (l AffinityLedger) bestDrawing(s *feasibility.Shape, c *NodeCheck) (best scoredNode, drawing int) {
	for slot := range c.check.Drawing {
		n := l.p.journal.affinity.bySlot[slot]
		drawing++
		if !n.entry.Indexed() {
			continue // it is not in the node order yet
		}
		if x := (scoredNode{n, c.score(s, n)}); x.before(best) && n.Fits(s) && c.Allows(n) {
			best = x
		}
	}
	return best, drawing
}

// ownGroups returns the groupedNodes that the kind of c has of its own, up to date; nil: it has none.
func (l AffinityLedger) ownGroups(s *feasibility.Shape, c *NodeCheck) *groupedNodes {
	a := &l.p.journal.affinity
	if len(a.grouped.own) == 0 {
		return nil
	}
	kind := kindOf(s, c)
	a.grouped.labels = c.check.AppendDivision(a.grouped.labels[:0], c.prefers)
	return a.grouped.ofKind(&kind, a.grouped.labels, &l.p.journal.order, len(a.nodes.all))
}

func kindOf(s *feasibility.Shape, c *NodeCheck) searchKind {
	kind := searchKind{check: c.check, prefers: c.prefers}
	if c.prefers {
		kind.nodes = s.Constraints()
	}
	return kind
}
