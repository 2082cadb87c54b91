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
	users    int              // allocations that have this shape
	noRoom   uint64           // the partition's news when no node had room for it
}

// Amounts is what an ask of this shape takes.
func (s *Shape) Amounts() resources.Amounts { return s.amounts }

// Vector is Amounts on the decision path. Read-only.
func (s *Shape) Vector() resources.Vector { return s.vector }

// RequiredNode is the only node an ask of this shape accepts; empty: any.
func (s *Shape) RequiredNode() NodeID { return s.required }

// shapes interns the shapes of a partition; a shape nobody has is forgotten.
type shapes map[string]*Shape

func (m shapes) take(names *resources.Names, ask *Ask) *Shape {
	key := shapeKey(ask)
	s := m[key]
	if s == nil {
		s = &Shape{amounts: ask.Amounts, vector: names.Vector(ask.Amounts), required: ask.RequiredNode}
		m[key] = s
	}
	s.users++
	return s
}

func (m shapes) giveBack(s *Shape, ask *Ask) {
	if s.users--; s.users == 0 {
		delete(m, shapeKey(ask))
	}
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
