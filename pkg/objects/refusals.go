package objects

import (
	"github.com/canopy-scheduler/canopy/pkg/constraints"
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
)

// An ask that nodes have refused has them in its constraints, so that everything that looks for a node observes it: the
// order, preemption, reservations, gangs and explanations (NOD-44). Its shape is another one until the back-offs end.

// WithoutNodes is the ask without the nodes that have refused it; none: without no node.
func (a *Ask) WithoutNodes(nodes []string) *Ask {
	c := AskConstraints{Nodes: a.Constraints().Without(nodes), Affinity: a.Affinity()}
	if c == (AskConstraints{}) {
		return a.WithConstraints(nil)
	}
	return a.WithConstraints(&c)
}

// SetRefusingNodes sets which nodes have refused x, after a back-off ended. A pending x may be placed on more nodes
// then, so its nomination or reservation stays, and the replacement of a placeholder; an allocation stays where it is.
func SetRefusingNodes(p *Partition, x *Allocation, nodes []string) {
	ask := x.ask.WithoutNodes(nodes)
	if x.Pending() {
		p.removePending(x)
	}
	before := x.shape
	x.ask, x.shape = ask, p.acquireShape(ask)
	p.shapes.Release(p.names, before)
	if x.Pending() {
		p.addPending(x)
		p.reindex(x.app)
	}
	p.journal.post(Change{Kind: AllocationResized, Ask: x})
}

// FitsButRefuses reports whether n would fit an ask of s now if it had not refused it, or asks of its kind.
func (n *Node) FitsButRefuses(s *feasibility.Shape) bool {
	return n.RefusesOnly(s) && n.hasFree(s.Vector())
}

// RefusesOnly reports whether nothing but a refusal keeps n from accepting an ask of s.
func (n *Node) RefusesOnly(s *feasibility.Shape) bool {
	schedulable := n.schedulable
	if id := s.RequiredNode(); id != "" {
		schedulable = id == string(n.ID())
	}
	return schedulable && s.RefusedBy(n.info) && s.Constraints().Match(n.info) == constraints.Matches
}
