package objects

import (
	"strconv"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Shape is everything about an ask that decides where it fits. Asks with the same
// amounts and constraints share one, so a question answered for one is answered for
// all (architecture.md 9.1; a real trace of 8,152 tasks has 151 shapes).
type Shape struct {
	amounts        resources.Amounts
	vector         resources.Vector // amounts, dense
	required       NodeID           // the only node; empty: any
	pinned         bool             // a band of shapes that accept only one node each
	refs           int              // allocations that have this shape
	slot           int              // its number in masks
	slotMask       Mask             // the set of just that slot
	bucket         *Shape           // whose slot that is; nil: its own
	noFitSince     uint64           // it fitted no node when the news were that far; 0: not known
	byMaxAppsCheck [3]*Shape        // the same in applications behind a gate, by gate; nil: there are none
	maxAppsCheck   maxAppsCheck     // it is that of another behind this gate
}

// Amounts is what an ask of this shape takes.
func (s *Shape) Amounts() resources.Amounts { return s.amounts }

// Vector is Amounts on the decision path. Read-only.
func (s *Shape) Vector() resources.Vector { return s.vector }

// RequiredNode is the only node an ask of this shape accepts; empty: any.
func (s *Shape) RequiredNode() NodeID { return s.required }

// Exact reports whether masks know the shape itself. Of others they know only the band, so
// that what they say has to be verified.
func (s *Shape) Exact() bool { return s.bucket == nil }

// acquireShape finds the shape of ask, or makes it. A shape nobody has is forgotten.
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

// addShapeToMasks decides for every queue and every node whether it takes the new shape s.
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

// shapeKey is the same for two asks exactly when they have the same shape: every
// name is preceded by its length, so no name can imitate another.
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
