package scheduler

import "github.com/canopy-scheduler/canopy/pkg/objects"

// findGroup finds the first ask group, in the order of queues, applications and asks, that has headroom and
// a fitting node; nil: there is none. It is for masks that are not exact: it verifies each group that they
// offer until one is feasible (ORD-10).
func (c *Core) findGroup() *objects.AskGroup {
	if len(c.maskByDepth) == 0 {
		c.maskByDepth = append(c.maskByDepth, nil)
	}
	c.part.FeasibleShapes(&c.maskByDepth[0])
	return c.findGroupBelow(c.part.Root(), 0)
}

// findGroupBelow searches q for the shapes of c.maskByDepth[level].
func (c *Core) findGroupBelow(q *objects.Queue, level int) *objects.AskGroup {
	if len(c.maskByDepth) == level+1 {
		c.maskByDepth = append(c.maskByDepth, nil)
	}
	if q.Leaf() {
		return c.findGroupInLeaf(q, level)
	}
	for child := range q.FeasibleChildren(c.maskByDepth[level]) {
		c.maskByDepth[level+1] = append(c.maskByDepth[level+1][:0], c.maskByDepth[level]...)
		child.RestrictToHeadroom(c.maskByDepth[level+1])
		if found := c.findGroupBelow(child, level+1); found != nil {
			return found
		}
	}
	return nil
}

func (c *Core) findGroupInLeaf(leaf *objects.Queue, level int) *objects.AskGroup {
	for a := range leaf.FeasibleApplications(c.maskByDepth[level]) {
		c.maskByDepth[level+1] = append(c.maskByDepth[level+1][:0], c.maskByDepth[level]...)
		a.RestrictToHeadroom(c.maskByDepth[level+1])
		for group := range a.FeasibleAskGroups(c.maskByDepth[level+1]) {
			s := group.Shape()
			if group.Exact() || !blocked(c.part, a, s) && c.part.FirstFittingNode(s) != nil {
				return group
			}
		}
	}
	return nil
}
