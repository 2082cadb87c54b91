package scheduler

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/refusals"
)

// Node refusals: the RM gives an allocation back because its binding failed on the node. The ask, which the RM sends
// again, is kept from the node for a back-off that grows (NOD-44 to NOD-47).

// refuse records that the node of x has refused it.
func (c *Core) refuse(x *objects.Allocation, reason string, now time.Time) {
	n := x.Node()
	began, ended := c.refusals.Refuse(c.part.Config().NodeRefusal, refusingAsk(x.Ask()), x.Shape().Kind(), string(n.ID()),
		now)
	c.endRefusals(ended, "there are too many others")
	for _, r := range began {
		c.emit(Event{Kind: EventNodeRefused, OfShape: r.OfShape, Until: r.Until, Count: r.Count, Message: reason}.about(x,
			n.ID()))
		if r.OfShape {
			c.updateRefusedKinds(n)
		}
	}
}

func refusingAsk(ask *objects.Ask) refusals.Ask {
	return refusals.Ask{App: string(ask.App), Key: string(ask.Key)}
}

// withRefusals is a new ask without the nodes that have refused it before.
func (c *Core) withRefusals(ask *objects.Ask) *objects.Ask {
	if nodes := c.refusingNodes(ask); len(nodes) > 0 {
		return ask.WithoutNodes(nodes)
	}
	return ask
}

// refusingNodes are the nodes from which an ask is kept because they have refused it; those that refuse all of its kind
// are not among them.
func (c *Core) refusingNodes(ask *objects.Ask) (nodes []string) {
	if c.refusals.Empty() {
		return nil
	}
	for r := range c.refusals.OfAsk(refusingAsk(ask)) {
		nodes = append(nodes, r.Node)
	}
	return nodes
}

// updateRefusedKinds sets which kinds of asks n refuses.
func (c *Core) updateRefusedKinds(n *objects.Node) {
	var kinds map[string]bool
	for r := range c.refusals.OfNode(string(n.ID())) {
		if r.OfShape {
			if kinds == nil {
				kinds = map[string]bool{}
			}
			kinds[r.Shape] = true
		}
	}
	objects.SetRefusedKinds(c.part, n, kinds)
}

// nodeChanged emits e, and ends the refusals by the node.
func (c *Core) nodeChanged(e NodeChanged) {
	c.emit(e)
	c.endRefusalsBy(e.Node)
}

// endRefusalsBy ends all refusals by a node, because something about it has changed (NOD-47).
func (c *Core) endRefusalsBy(id objects.NodeID) {
	c.endRefusals(c.refusals.NodeChanged(string(id)), "the node has changed")
}

// endRefusals makes the asks of refusals that have ended placeable on the nodes again.
func (c *Core) endRefusals(ended []*refusals.Refusal, why string) {
	for _, r := range ended {
		app, key, node := objects.AppID(r.Ask.App), objects.AllocationKey(r.Ask.Key), objects.NodeID(r.Node)
		subject := AllocationRef{Key: key, App: app}
		if a, known := c.part.Application(app); known {
			subject.Queue = a.Queue().Path()
		}
		c.emit(Event{Kind: EventNodeRefusalEnded, OfShape: r.OfShape, Subject: subject, Node: node, Since: r.Since,
			Count: r.Count, Message: why})
		if r.OfShape {
			if n, known := c.part.Node(node); known {
				c.updateRefusedKinds(n)
			}
		} else if x, known := c.knownAllocation(key, app); known && len(x.Ask().Constraints().Refused()) > 0 {
			objects.SetRefusingNodes(c.part, x, c.refusingNodes(x.Ask()))
		}
	}
}

// refusedUntil returns when n may get x again, which it has refused, or asks of its kind; zero: it may now (EXP-3).
func (c *Core) refusedUntil(x *objects.Allocation, n *objects.Node) (until time.Time) {
	for r := range c.refusals.OfNode(string(n.ID())) {
		if r.OfShape && r.Shape == x.Shape().Kind() || !r.OfShape && r.Ask == refusingAsk(x.Ask()) {
			if r.Until.After(until) {
				until = r.Until
			}
		}
	}
	return until
}

// refusalsOf returns the number of nodes that do not get x because of refusals, and when the first may get it again.
func (c *Core) refusalsOf(x *objects.Allocation) (nodes int, first time.Time) {
	if c.refusals.Empty() {
		return 0, first
	}
	for n := range c.part.EachNode {
		if until := c.refusedUntil(x, n); !until.IsZero() {
			nodes++
			if nodes == 1 || until.Before(first) {
				first = until
			}
		}
	}
	return nodes, first
}
