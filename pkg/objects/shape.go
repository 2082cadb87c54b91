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
	amounts  resources.Amounts
	vector   resources.Vector // amounts, dense
	required NodeID           // the only node; empty: any
	pinned   bool             // a band of shapes that accept only one node each
	users    int              // allocations that have this shape
	slot     int              // its number in masks
	only     Mask             // the set of just that slot
	band     *Shape           // whose slot that is; nil: its own
	barren   uint64           // it fitted no node when the news were that far; 0: not known
	gated    [3]*Shape        // the same in applications behind a gate, by gate; nil: there are none
	gate     gate             // it is that of another behind this gate
}

// Amounts is what an ask of this shape takes.
func (s *Shape) Amounts() resources.Amounts { return s.amounts }

// Vector is Amounts on the decision path. Read-only.
func (s *Shape) Vector() resources.Vector { return s.vector }

// RequiredNode is the only node an ask of this shape accepts; empty: any.
func (s *Shape) RequiredNode() NodeID { return s.required }

// Exact reports whether masks know the shape itself. Of others they know only the band, so
// that what they say has to be verified.
func (s *Shape) Exact() bool { return s.band == nil }

// takeShape finds the shape of ask, or makes it. A shape nobody has is forgotten.
func (p *Partition) takeShape(ask *Ask) *Shape {
	key := shapeKey(ask)
	s := p.shapes[key]
	if s == nil {
		s = &Shape{amounts: ask.Amounts, vector: p.names.Hold(ask.Amounts, resources.Asks), required: ask.RequiredNode}
		p.shapes[key] = s
		if fresh := p.slots.take(s); fresh != nil {
			p.introduce(fresh)
		}
	}
	s.users++
	return s
}

func (p *Partition) giveBackShape(s *Shape, ask *Ask) {
	if s.users--; s.users == 0 {
		delete(p.shapes, shapeKey(ask))
		p.slots.giveBack(s)
		p.names.Release(s.vector, resources.Asks)
	}
}

// introduce decides for every queue and every node whether it takes the new shape s.
func (p *Partition) introduce(s *Shape) {
	for _, q := range p.queues {
		if !q.rule.roomy {
			q.fit.put(s.slot, p.hasHeadroom(q, s))
		}
	}
	for _, q := range p.queues {
		for _, x := range q.accounts {
			x.fit.put(s.slot, x.allows(s))
		}
	}
	for _, n := range p.nodes {
		if n.turn.can.put(s.slot, n.Takes(s)); !n.schedulable {
			p.standNode(n)
		}
	}
	p.byScore.root.reunite()
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
