package scheduler

import "github.com/canopy-scheduler/canopy/pkg/objects"

// lookAround finds the first class, in the order of queues, applications and asks, that
// has headroom and a node, when masks offer some that they know only roughly: each that
// they offer is verified until one is found. nil: there is none.
func (c *Core) lookAround() *objects.Class {
	if len(c.levels) == 0 {
		c.levels = append(c.levels, nil)
	}
	c.part.Possible(&c.levels[0])
	return c.lookBelow(c.part.Root(), 0)
}

// lookBelow looks at what q offers of c.levels[level].
func (c *Core) lookBelow(q *objects.Queue, level int) *objects.Class {
	if len(c.levels) == level+1 {
		c.levels = append(c.levels, nil)
	}
	if q.Leaf() {
		return c.lookInto(q, level)
	}
	for child := range q.Offering(c.levels[level]) {
		c.levels[level+1] = append(c.levels[level+1][:0], c.levels[level]...)
		child.Narrow(c.levels[level+1])
		if found := c.lookBelow(child, level+1); found != nil {
			return found
		}
	}
	return nil
}

func (c *Core) lookInto(leaf *objects.Queue, level int) *objects.Class {
	for a := range leaf.ApplicationsOffering(c.levels[level]) {
		c.levels[level+1] = append(c.levels[level+1][:0], c.levels[level]...)
		a.Narrow(c.levels[level+1])
		for class := range a.Offering(c.levels[level+1]) {
			s := class.Shape()
			if class.Exact() || c.part.Allowed(a, s) && c.part.NodeFor(s) != nil {
				return class
			}
		}
	}
	return nil
}
