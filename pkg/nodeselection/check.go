package nodeselection

import (
	"cmp"
	"iter"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/affinity"
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// Check says which nodes other allocations leave to one ask: by pod affinity, anti-affinity, topology spread and host
// ports, its own and those of others (CON-13); and which of these it prefers, by its preferences, or because others
// have a taint with PreferNoSchedule. The score of a node says how much; of equal scores the first in node order is
// taken (CON-28). A Check is valid until the partition changes.
type Check struct {
	nodes   *Nodes
	shape   *feasibility.Shape // of the ask
	check   affinity.Check
	gone    []affinity.Gone // allocations that are taken to be gone
	prefers bool            // some nodes may be preferred to others
}

// For is the Check of x, which may be hypothetical.
func (s *Nodes) For(x *objects.Allocation) Check {
	c := Check{nodes: s, shape: x.Shape()}
	if d := x.Ask().Details; s.tracking || s.softTainted != nil || d != nil && d.Constraints != nil {
		s.fill(&c, x)
	}
	return c
}

func (s *Nodes) fill(c *Check, x *objects.Allocation) {
	if x.Constrained() && !s.tracking {
		s.track() // x is hypothetical: the partition has no ask with constraints
	}
	if s.tracking {
		c.check = s.tracker.Check(x.Ask().Affinity(), x.Ask().Tags())
	}
	c.prefers = (s.softTainted != nil || c.shape.Constraints().Prefers() || c.check.Prefers()) &&
		c.shape.RequiredNode() == ""
}

// MayRefuse reports whether there may be nodes that are refused.
func (c Check) MayRefuse() bool { return c.check.MayRefuse() }

// Allows reports whether n is not refused.
func (c Check) Allows(n *objects.Node) bool { return c.Refusal(n) == affinity.Allowed }

// Refusal returns why n is refused, or affinity.Allowed.
func (c Check) Refusal(n *objects.Node) affinity.Refusal {
	if !c.check.MayRefuse() {
		return affinity.Allowed
	}
	return c.check.RefusalWithout(n.AffinityNode, c.gone)
}

// Without is c when some allocations are gone, on whatever nodes.
func (c Check) Without(gone []*objects.Allocation) Check {
	if !c.check.MayRefuse() {
		return c
	}
	c.gone = slices.Clip(c.gone)
	for _, y := range gone {
		c.gone = append(c.gone, affinity.Gone{Kind: c.nodes.tracker.Kind(y.Ask().Affinity(), y.Ask().Tags()),
			Node: y.Node().AffinityNode})
	}
	return c
}

// WithoutPreferences is c for a search that takes nodes in node order.
func (c Check) WithoutPreferences() Check {
	c.prefers = false
	return c
}

// score is the score of n.
func (c *Check) score(n *objects.Node) int64 {
	return c.shape.Constraints().Score(n.Constraints()) + c.check.ScoreWithout(n.AffinityNode, c.gone)
}

// Allowed yields those of all, nodes in node order, that are not refused. The most preferred come first; to find these
// it looks at all.
func (c Check) Allowed(all iter.Seq[*objects.Node]) iter.Seq[*objects.Node] {
	return func(yield func(*objects.Node) bool) {
		var scored []scoredNode
		for n := range all {
			switch {
			case !c.Allows(n):
			case c.prefers:
				scored = append(scored, scoredNode{n, c.score(n)})
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

// Nodes yields the nodes that fit the ask now and are not refused: the most preferred first, and in node order.
func (c Check) Nodes() iter.Seq[*objects.Node] {
	switch all := c.nodes.part.FittingNodes(c.shape); {
	case c.prefers:
		return c.byPreference
	case c.MayRefuse():
		return c.Allowed(all)
	default:
		return all
	}
}

// byPreference is Nodes for an ask that prefers some. The first is found without a look at all.
func (c Check) byPreference(yield func(*objects.Node) bool) {
	first := c.First()
	if first == nil || !yield(first) {
		return
	}
	for n := range c.Allowed(c.nodes.part.FittingNodes(c.shape)) {
		if n != first && !yield(n) {
			return
		}
	}
}
