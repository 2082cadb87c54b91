package scheduler

import "github.com/canopy-scheduler/canopy/pkg/objects"

// willingNode is the first node with room for x that the Oracle accepts. It is asked
// about a batch of nodes at a time, in the order in which we would like them.
func (c *Core) willingNode(x *objects.Allocation) *objects.Node {
	var batch []*objects.Node
	for n := range c.part.NodesFor(x.Shape()) {
		if batch = append(batch, n); len(batch) == oracleBatch {
			if n := c.ask(x, batch); n != nil {
				return n
			}
			batch = batch[:0]
		}
	}
	return c.ask(x, batch)
}

func (c *Core) ask(x *objects.Allocation, batch []*objects.Node) *objects.Node {
	if len(batch) == 0 {
		return nil
	}
	ids := make([]objects.NodeID, len(batch))
	for i, n := range batch {
		ids[i] = n.ID()
	}
	for i, err := range c.oracle.Fits(x.Key(), ids) {
		if err == nil {
			return batch[i]
		}
	}
	return nil
}
