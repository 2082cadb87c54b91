package objects

import (
	"iter"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/affinity"
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
)

// AffinityLedger has what a partition knows of pod affinity, topology spread and host ports.
type AffinityLedger struct{ p *Partition }

// Affinity is the AffinityLedger of the partition.
func (p *Partition) Affinity() AffinityLedger { return AffinityLedger{p} }

// NodeCheck says which nodes other allocations leave to one ask: by pod affinity, anti-affinity, topology spread and
// host ports, its own and those of others (CON-13). It is valid until the partition changes. The zero value allows
// every node.
type NodeCheck struct {
	check   affinity.Check
	tracker *affinity.Tracker
	gone    []affinity.Gone // allocations that are taken to be gone
	prefers bool            // some nodes may be preferred to others
}

// Check is the NodeCheck of x, which may be hypothetical.
func (l AffinityLedger) Check(x *Allocation) NodeCheck {
	c := &l.p.journal.affinity
	if !c.tracking && c.softTainted == nil && x.ask.allConstraints() == nil {
		return NodeCheck{}
	}
	return c.check(x)
}

func (c *affinityChanges) check(x *Allocation) (check NodeCheck) {
	if x.Constrained() && !c.tracking {
		c.track() // x is hypothetical: the partition has no ask with constraints
	}
	if c.tracking {
		check.check, check.tracker = c.tracker.Check(x.ask.Affinity(), x.ask.Tags()), &c.tracker
	}
	check.prefers = (c.softTainted != nil || x.shape.Constraints().Prefers() || check.check.Prefers()) &&
		x.shape.RequiredNode() == ""
	return check
}

// NodesOpened reports whether a node may be allowed that was refused, and no RefreshShares came since.
func (l AffinityLedger) NodesOpened() bool { return l.p.journal.affinity.nodesOpened }

// MayRefuse reports whether any allocation has constraints, so that nodes may be refused to asks that have none.
func (l AffinityLedger) MayRefuse() bool { return l.p.journal.affinity.tracking }

// MayRefuse reports whether there may be nodes that are refused.
func (c NodeCheck) MayRefuse() bool { return c.check.MayRefuse() }

// Allows reports whether n is not refused.
func (c NodeCheck) Allows(n *Node) bool { return c.Refusal(n) == affinity.Allowed }

// Refusal returns why n is refused, or affinity.Allowed.
func (c NodeCheck) Refusal(n *Node) affinity.Refusal {
	if !c.check.MayRefuse() {
		return affinity.Allowed
	}
	return c.check.RefusalWithout(n.tracked, c.gone)
}

// Without is c when some allocations are gone, on whatever nodes.
func (c NodeCheck) Without(gone []*Allocation) NodeCheck {
	if !c.check.MayRefuse() {
		return c
	}
	c.gone = slices.Clip(c.gone)
	for _, y := range gone {
		c.gone = append(c.gone, affinity.Gone{Kind: c.tracker.Kind(y.ask.Affinity(), y.ask.Tags()), Node: y.node.tracked})
	}
	return c
}

// AllowedNodes yields the nodes that fit s now and that c, the NodeCheck of an ask of that shape, allows: the most
// preferred first, and in node order.
func (l AffinityLedger) AllowedNodes(s *feasibility.Shape, c NodeCheck) iter.Seq[*Node] {
	switch all := l.p.FittingNodes(s); {
	case c.prefers:
		return l.allowedByPreference(s, c)
	case c.MayRefuse():
		return c.Allowed(s, all)
	default:
		return all
	}
}

// FirstAllowedNode is the first of AllowedNodes; nil: there is none.
func (l AffinityLedger) FirstAllowedNode(s *feasibility.Shape, c NodeCheck) *Node {
	if c.prefers {
		return l.firstPreferred(s, &c)
	}
	if first := l.p.FirstFittingNode(s); first == nil || c.Allows(first) {
		return first
	}
	return l.searchAllowed(s, &c)
}

// defaultRefusals is the number of refused nodes that a search tries one by one, unless Options.RefusedNodes says
// otherwise.
const defaultRefusals = 64

// searchAllowed is FirstAllowedNode behind the first fitting node. Nearly always one of the next is allowed.
func (l AffinityLedger) searchAllowed(s *feasibility.Shape, c *NodeCheck) *Node {
	grouped := len(c.gone) == 0 && s.RequiredNode() == ""
	if grouped {
		if k := l.ownGroups(s, c); k != nil {
			best, _ := k.first(s, c, scoredNode{})
			return best.node
		}
	}
	refused := 0
	for n := range l.p.FittingNodes(s) {
		if c.Allows(n) {
			return n
		}
		refused++
		if grouped && refused > l.p.journal.affinity.maxRefused {
			return l.searchGroups(s, c)
		}
	}
	return nil
}

// Constrained reports whether x has constraints on the allocations around it. Then all asks of its group have the same,
// and the same labels: what refuses one refuses all.
func (x *Allocation) Constrained() bool { return x.constraints() != nil }

// constraints is the constraints of x on the allocations around it; nil: none.
func (x *Allocation) constraints() *affinity.Ask {
	if a := x.ask.Affinity(); a.Key() != "" {
		return a
	}
	return nil
}

// MarkGroupRefused takes the group of x, which is Constrained and to which every node is refused that it fits, out of
// the order until the next requeue.
func (l AffinityLedger) MarkGroupRefused(x *Allocation) {
	group := x.group
	group.amendSetbacks().refused = true
	l.p.journal.affinity.refused = append(l.p.journal.affinity.refused, group)
	group.app.askGroups.reindex(group)
	group.app.reindex()
}

// Refused reports whether the group of x was marked so and no requeue is due since.
func (l AffinityLedger) Refused(x *Allocation) bool {
	return x.group.refused() && !l.p.journal.affinity.nodesOpened
}

// requeueRefused puts the groups back into the order to which nodes were refused, and the asks of others that the RM
// refused on nodes that were not, if a change may have opened nodes to them.
func (l AffinityLedger) requeueRefused() {
	c := &l.p.journal.affinity
	if !c.nodesOpened {
		return
	}
	c.nodesOpened = false
	l.p.journal.post(Change{Kind: NodesOpened})
	refused := c.refused
	c.refused = nil
	for _, group := range refused {
		group.requeueRefused()
	}
	r := &l.p.journal.retries
	r.parked = slices.DeleteFunc(r.parked, func(group *AskGroup) bool {
		if group.id.affinity == nil {
			return false
		}
		group.requeue()
		if !group.empty() {
			group.app.reindex()
		}
		return true
	})
}

func (g *AskGroup) requeueRefused() {
	g.clearRefused()
	g.app.askGroups.reindex(g)
	if !g.empty() {
		g.app.reindex()
	}
}

func (g *AskGroup) clearRefused() {
	if g.setbacks != nil {
		g.setbacks.refused = false
		g.dropSetbacks()
	}
}
