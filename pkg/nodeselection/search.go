package nodeselection

import (
	"math"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// scoredNode is a node and its score. The zero value is none.
type scoredNode struct {
	node  *objects.Node
	score int64
}

// before reports whether x is tried before y.
func (x scoredNode) before(y scoredNode) bool {
	if y.node == nil || x.score != y.score {
		return y.node == nil || x.score > y.score
	}
	return objects.CompareNodes(x.node, y.node) < 0
}

// First is the first of Nodes; nil: there is none.
func (c Check) First() *objects.Node {
	first := c.nodes.part.FirstFittingNode(c.shape)
	if first == nil || !c.prefers && c.Allows(first) {
		return first
	}
	return c.search()
}

// search is First behind the first node that fits, or by preference. Only a search without what is taken to be gone
// looks at all nodes. Without preferences, nearly always one of the next nodes is allowed.
func (c *Check) search() *objects.Node {
	if len(c.gone) > 0 || c.shape.RequiredNode() != "" {
		first, _ := c.oneByOne(math.MaxInt)
		return first
	}
	if k := c.ownGroups(); k != nil {
		best, _ := k.first(c, scoredNode{})
		return best.node
	}
	if !c.prefers {
		if first, more := c.oneByOne(c.nodes.maxRefused); !more {
			return first
		}
	}
	return c.searchGroups()
}

// oneByOne is First by a look at each node that fits. more: it has met more refused nodes than maxRefused, and ended.
func (c Check) oneByOne(maxRefused int) (first *objects.Node, more bool) {
	fitting := c.nodes.part.FittingNodes(c.shape)
	if c.prefers {
		fitting = c.Allowed(fitting)
	}
	refused := 0
	for n := range fitting {
		if c.Allows(n) {
			return n, false
		}
		refused++
		if refused > maxRefused {
			return nil, true
		}
	}
	return nil, false
}

// lookedPerRefusal times Nodes.maxRefused groups and nodes are what a search may look at before its kind gets
// groupedNodes of its own. These cost more than a short walk: each of its searches applies the changes of all others
// before.
const lookedPerRefusal = 4

// searchGroups returns the first of Nodes, from the groups of nodes that kinds share.
func (c *Check) searchGroups() *objects.Node {
	grouped := &c.nodes.grouped
	labels := c.check.AppendDivision(grouped.labels[:0], c.prefers)
	topologies := len(labels)
	var drawn scoredNode
	drawing := 0
	if c.prefers {
		labels = c.shape.Constraints().AppendScoreLabels(labels)
		drawn, drawing = c.bestDrawing()
	}
	best, looked := grouped.sharedBy(labels).first(c, drawn)
	if drawing+looked > lookedPerRefusal*c.nodes.maxRefused {
		grouped.keep(c.kind(), labels[:topologies])
	}
	grouped.labels = labels
	return best.node
}

// bestDrawing returns the best of the nodes that affinity.Check.Drawing yields, and how many there are.
func (c *Check) bestDrawing() (best scoredNode, drawing int) {
	for slot := range c.check.Drawing {
		n := c.nodes.bySlot[slot]
		drawing++
		if !n.InOrder() {
			continue
		}
		if x := (scoredNode{n, c.score(n)}); x.before(best) && n.Fits(c.shape) && c.Allows(n) {
			best = x
		}
	}
	return best, drawing
}

// ownGroups returns the groupedNodes that the kind of c has of its own, up to date; nil: it has none.
func (c *Check) ownGroups() *groupedNodes {
	grouped := &c.nodes.grouped
	if len(grouped.own) == 0 {
		return nil
	}
	grouped.labels = c.check.AppendDivision(grouped.labels[:0], c.prefers)
	return grouped.ofKind(c.kind(), grouped.labels)
}

// kind returns the searchKind of c.
func (c *Check) kind() searchKind {
	kind := searchKind{check: c.check, prefers: c.prefers}
	if c.prefers {
		kind.nodes = c.shape.Constraints()
	}
	return kind
}
