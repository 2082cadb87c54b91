package objects

import (
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Gangs that could not be placed together leave the order, and come back when they are tried again (GAN-21). Many may
// wait in a full cluster, so what cannot have a plan is not planned: a gang for which the cluster as a whole has not
// enough, or nodes have not enough for its members of one shape alone.

// refusedGang is what a gang requests that could not be placed together.
type refusedGang struct {
	requested resources.Vector // by all members
	shapes    []shapeCount
}

type shapeCount struct {
	shape *feasibility.Shape
	n     int
}

func newRefusedGang(members []MemberGroup) (g refusedGang) {
	g.requested = requestedBy(members)
	for _, m := range members {
		g.shapes = append(g.shapes, shapeCount{m.Shape, len(m.Asks)})
	}
	return g
}

// Refuse records that the members of a could not be placed together, and why. Their groups leave the order until a
// change that may let them be placed. Requires: the gang of a is ready.
func (l GangLedger) Refuse(a *Application, members []MemberGroup, reason string) {
	a.gang.Refuse(reason)
	a.reindexReady()
	l.p.reindex(a)
	c := &l.p.journal.gangs
	if c.refused == nil {
		c.refused = map[*Application]refusedGang{}
	}
	c.refused[a] = newRefusedGang(members)
	l.p.journal.post(Change{Kind: GangRefused, App: a})
}

// ExpireRefusals has RetryRefused try the gangs that were refused.
func (l GangLedger) ExpireRefusals() { l.p.journal.gangs.mayFit() }

// RetryRefused lets the gangs that were refused be placed again, if resources of a node were freed since, or after
// ExpireRefusals. One that would be refused again stays, as far as that can be seen without a plan.
func (l GangLedger) RetryRefused() {
	c := &l.p.journal.gangs
	if !c.retryRefused {
		return
	}
	c.retryRefused = false
	slots := nodeSlots{p: l.p}
	for a, g := range c.refused {
		switch {
		case l.p.apps[a.ID()] != a || a.gang.Refusal() == "":
		case !l.fitsCapacity(g.requested) || !slots.fit(g.shapes) || l.refusedByDomains(a):
			continue
		default:
			a.gang.Refuse("")
			a.reindexReady()
			l.p.reindex(a)
		}
		delete(c.refused, a)
	}
}

// nodeSlots counts how many asks of a shape the nodes take if nothing else is placed. It is valid until the partition
// changes.
type nodeSlots struct {
	p       *Partition
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

// count is how many asks of shape x the nodes take, at most bound.
func (s *nodeSlots) count(x *feasibility.Shape, bound int) (n int) {
	for node := range s.p.FittingNodes(x) {
		n += node.slots(x, bound-n)
		if n >= bound {
			break
		}
	}
	return n
}

// slots is how many asks of shape s n takes, at most bound. Requires: it takes one.
func (n *Node) slots(s *feasibility.Shape, bound int) int {
	count := resources.Quantity(bound)
	for k, requested := range s.Vector() {
		if requested > 0 {
			count = min(count, n.free(resources.Index(k))/requested)
		}
	}
	return int(count)
}
