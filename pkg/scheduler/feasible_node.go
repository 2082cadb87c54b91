package scheduler

import "github.com/canopy-scheduler/canopy/pkg/objects"

// firstFeasibleNode is the first node, in node order, that has the free resources for x and that the Oracle
// (the predicates of the RM) accepts; nil: none (ORD-1, NOD-29, NOD-32, NOD-33).
func (c *Core) firstFeasibleNode(x *objects.Allocation) *objects.Node {
	if c.oracle == nil {
		return c.part.FirstFittingNode(x.Shape())
	}
	for n := range c.part.FittingNodes(x.Shape()) {
		if c.oracle.Fits(x.Key(), n.ID()) {
			return n
		}
	}
	return nil
}
