package scheduler

import "github.com/canopy-scheduler/canopy/pkg/objects"

// willingNode is the first node, in node order, that has room for x and that the Oracle
// accepts; nil: none.
func (c *Core) willingNode(x *objects.Allocation) *objects.Node {
	if c.oracle == nil {
		return c.part.NodeFor(x.Shape())
	}
	for n := range c.part.NodesFor(x.Shape()) {
		if c.oracle.Fits(x.Key(), n.ID()) {
			return n
		}
	}
	return nil
}
