package scheduler

import "github.com/canopy-scheduler/canopy/pkg/objects"

// firstFeasibleNode is the first node, in node order, that has room for x and that the Oracle
// accepts; nil: none.
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
