package objects

import (
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
)

// acquireShape finds or makes the shape of ask. It is removed with its last user. The amounts of ask are Replaced by
// the equal ones of the shape: asks of a shape share their memory, which the message about each placement reads.
func (p *Partition) acquireShape(ask *Ask) *feasibility.Shape {
	s, added := p.shapes.Acquire(p.names, ask.Request())
	p.addShapeToMasks(added)
	ask.Amounts = s.Amounts()
	return s
}

// addShapeToMasks sets the slot of a new shape in the masks of all queues, accounts and nodes that
// it fits; nil: there is none.
func (p *Partition) addShapeToMasks(s *feasibility.Shape) {
	if s == nil {
		return
	}
	for _, q := range p.queues {
		q.quota.FitShape(s)
	}
	for _, q := range p.queues {
		for _, x := range q.quota.Accounts() {
			x.FitShape(s)
		}
	}
	changed := false // a full cluster has no node that a new shape fits, and its index stays as it is
	for _, n := range p.lists.nodes.all {
		if admits := n.admits(s); !admits || n.rejected.Has(s.Slot()) {
			n.rejected.Set(s.Slot(), !admits)
		}
		fits := n.Fits(s)
		different := fits != n.entry.Mask.Has(s.Slot())
		n.entry.Mask.Set(s.Slot(), fits)
		if !different {
			continue
		}
		changed = true
		if !n.schedulable {
			p.journal.order.reindexNode(n)
		}
	}
	if changed {
		p.journal.order.schedulable.RebuildMasks()
	}
	p.journal.order.shapesAdded++
}

// ShapesAdded counts the shapes that were added to the masks of nodes, without a change of the nodes.
func ShapesAdded(p *Partition) uint64 { return p.journal.order.shapesAdded }
