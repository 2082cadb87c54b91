package scheduler

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// placeFor finds the first ask of a class that a node takes, and the first such node.
// Without an Oracle all asks of a class are alike.
func (c *Core) placeFor(now time.Time, class *objects.Class) (*objects.Allocation, *objects.Node) {
	if c.oracle == nil {
		n := c.nodeFor(class.Shape())
		if n == nil {
			return nil, nil
		}
		return class.Asks()[0], n
	}
	for _, x := range class.Asks() {
		if n := c.willingNode(now, x); n != nil {
			return x, n
		}
	}
	return nil, nil
}

// nodeFor is the first node with room for a shape, nil if there is none. That answer
// is remembered until there is news.
func (c *Core) nodeFor(s *objects.Shape) *objects.Node {
	if c.part.NoRoom(s) {
		return nil
	}
	if id := s.RequiredNode(); id != "" {
		if n, ok := c.part.Node(id); ok && n.Takes(s) {
			return n
		}
	} else {
		for _, n := range c.part.NodeOrder() {
			if n.Takes(s) {
				return n
			}
		}
	}
	c.part.SetNoRoom(s)
	return nil
}

// willingNode is the first node with room for x that the Oracle accepts. It is asked
// about a batch of nodes at a time, in the order in which we would like them.
func (c *Core) willingNode(now time.Time, x *objects.Allocation) *objects.Node {
	s := x.Shape()
	if c.part.Refused(x) || c.nodeFor(s) == nil {
		return nil
	}
	var batch []*objects.Node
	for _, n := range c.candidates(s) {
		if !n.Takes(s) {
			continue
		}
		if batch = append(batch, n); len(batch) == oracleBatch {
			if n := c.ask(x, batch); n != nil {
				return n
			}
			batch = batch[:0]
		}
	}
	if n := c.ask(x, batch); n != nil {
		return n
	}
	c.part.SetRefused(x)
	if c.retryAt.IsZero() {
		c.retryAt = now.Add(refusalRetry)
	}
	return nil
}

func (c *Core) candidates(s *objects.Shape) []*objects.Node {
	id := s.RequiredNode()
	if id == "" {
		return c.part.NodeOrder()
	}
	n, _ := c.part.Node(id)
	return []*objects.Node{n}
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
