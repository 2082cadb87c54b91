package gangscheduling

import (
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Gangs that could not be placed together leave the order, and come back when they are tried again (GAN-21). Many may
// wait in a full cluster, so what cannot have a plan is not planned: a gang for which the cluster as a whole has not
// enough, or nodes have not enough for its members of one shape alone.

// refusedGang has what a gang requests that could not be placed together.
type refusedGang struct {
	requested resources.Vector // by all members
	shapes    []shapeCount
}

type shapeCount struct {
	shape *feasibility.Shape
	n     int
}

func newRefusedGang(members []MemberGroup) (g refusedGang) {
	g.requested = RequestedBy(members)
	for _, m := range members {
		g.shapes = append(g.shapes, shapeCount{m.Shape, len(m.Asks)})
	}
	return g
}

// Refuse records that the members of a could not be placed together, and why. Their groups leave the order until a
// change that may let them be placed. Requires: the gang of a is ready.
func (g *Gangs) Refuse(a *objects.Application, members []MemberGroup, reason string) {
	g.part.Gangs().SetRefusal(a, reason)
	if g.refused == nil {
		g.refused = map[*objects.Application]refusedGang{}
	}
	g.refused[a] = newRefusedGang(members)
}

// ExpireRefusals has RetryRefused try the gangs that were refused.
func (g *Gangs) ExpireRefusals() { g.retryRefused = len(g.refused) > 0 }

// RetryRefused lets the gangs that were refused be placed again, if resources of a node were freed since, or after
// ExpireRefusals. One that would be refused again stays, as far as that can be seen without a plan.
func (g *Gangs) RetryRefused() {
	if !g.retryRefused {
		return
	}
	g.retryRefused = false
	slots := nodeSlots{p: g.part}
	for a, of := range g.refused {
		switch {
		case !g.has(a) || a.Gang().Refusal() == "":
		case !fitsCapacity(g.part, of.requested) || !slots.fit(of.shapes) || g.refusedByDomains(a):
			continue
		default:
			g.part.Gangs().SetRefusal(a, "")
		}
		delete(g.refused, a)
	}
}

// nodeSlots counts how many asks of a shape the nodes take if nothing else is placed. It is valid until the partition
// changes.
type nodeSlots struct {
	p       *objects.Partition
	counted map[*feasibility.Shape]countedSlots
}

// countedSlots is a number of asks; it was counted up to a bound.
type countedSlots struct{ n, bound int }

// fit reports whether the nodes take as many asks of each of the shapes, beside no others.
func (s *nodeSlots) fit(shapes []shapeCount) bool {
	for _, x := range shapes {
		known, ok := s.counted[x.shape]
		if !ok || known.n >= known.bound && known.bound < x.n {
			known = countedSlots{s.count(x.shape, x.n), x.n}
			if s.counted == nil {
				s.counted = map[*feasibility.Shape]countedSlots{}
			}
			s.counted[x.shape] = known
		}
		if known.n < x.n {
			return false
		}
	}
	return true
}

// count returns how many asks of shape x the nodes take, at most bound.
func (s *nodeSlots) count(x *feasibility.Shape, bound int) (n int) {
	for node := range s.p.FittingNodes(x) {
		n += slotsOn(node, x, bound-n)
		if n >= bound {
			break
		}
	}
	return n
}

// slotsOn returns how many asks of shape s n takes, at most bound. Requires: it takes one.
func slotsOn(n *objects.Node, s *feasibility.Shape, bound int) int {
	count := resources.Quantity(bound)
	for k, requested := range s.Vector() {
		if requested > 0 {
			count = min(count, n.Free(resources.Index(k))/requested)
		}
	}
	return int(count)
}
