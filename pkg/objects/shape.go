package objects

import (
	"strconv"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Shape is what decides which nodes an ask fits: its resources and its required node. Asks with the
// same share one Shape, so that a check of one holds for all. (A production trace of 8,152 tasks
// has 151 shapes.)
type Shape struct {
	amounts        resources.Amounts
	vector         resources.Vector // amounts as a vector
	required       NodeID           // the only node; empty: any
	pinned         bool             // a bucket of shapes that require one node each
	refs           int              // number of asks and allocations of this shape
	slot           int              // index in masks
	slotMask       Mask             // the mask of that slot
	bucket         *Shape           // the bucket that has the slot; nil: it has a slot of its own
	noFitSince     uint64           // it fits no node except freed ones from this sequence number on; 0: unknown
	byMaxAppsCheck [3]*Shape        // shapes of the slots of asks with that check; nil: none
	maxAppsCheck   maxAppsCheck     // it is in byMaxAppsCheck of another shape
}

// Amounts is what an ask of this shape requests.
func (s *Shape) Amounts() resources.Amounts { return s.amounts }

// Vector is Amounts as a vector. Read-only.
func (s *Shape) Vector() resources.Vector { return s.vector }

// RequiredNode is the only node on which an ask of this shape may be placed; empty: any.
func (s *Shape) RequiredNode() NodeID { return s.required }

// Exact reports whether the shape has a slot of its own. Otherwise masks hold for its bucket and
// the caller must check the shape itself.
func (s *Shape) Exact() bool { return s.bucket == nil }

// acquireShape finds or makes the shape of ask. It is removed with its last user.
func (p *Partition) acquireShape(ask *Ask) *Shape {
	key := shapeKey(ask)
	s := p.shapes[key]
	if s == nil {
		s = &Shape{amounts: ask.Amounts, vector: p.names.Hold(ask.Amounts, resources.Asks), required: ask.RequiredNode}
		p.shapes[key] = s
		if added := p.slots.assign(s); added != nil {
			p.addShapeToMasks(added)
		}
	}
	s.refs++
	return s
}

func (p *Partition) releaseShape(s *Shape, ask *Ask) {
	if s.refs--; s.refs == 0 {
		delete(p.shapes, shapeKey(ask))
		p.slots.release(s)
		p.names.Release(s.vector, resources.Asks)
	}
}

// addShapeToMasks sets the slot of a new shape in the masks of all queues, accounts and nodes that
// it fits.
func (p *Partition) addShapeToMasks(s *Shape) {
	for _, q := range p.queues {
		if !q.policy.unbounded {
			q.fit.set(s.slot, p.hasHeadroom(q, s))
		}
	}
	for _, q := range p.queues {
		for _, x := range q.accounts {
			x.fit.set(s.slot, x.allows(s))
		}
	}
	for _, n := range p.nodes {
		if n.entry.mask.set(s.slot, n.Fits(s)); !n.schedulable {
			p.reindexNode(n)
		}
	}
	p.schedulableNodes.root.rebuildMasks()
}

// shapeKey is equal for two asks if and only if they have the same shape: each name is preceded by
// its length, so keys are unambiguous.
func shapeKey(ask *Ask) string {
	var b strings.Builder
	put := func(s string) {
		b.WriteString(strconv.Itoa(len(s)))
		b.WriteByte(':')
		b.WriteString(s)
	}
	put(string(ask.RequiredNode))
	for name, n := range ask.Amounts.All() {
		put(name)
		b.WriteString(strconv.FormatInt(int64(n), 10))
		b.WriteByte(';')
	}
	return b.String()
}
