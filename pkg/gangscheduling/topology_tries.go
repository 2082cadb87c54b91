package gangscheduling

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// TopologyTries remembers how many members of a task group that waits the topology domains took when they were last
// tried. Where nothing but resources decides, and all members have one shape, a domain in which no node has changed
// takes as many again, so it is not planned again (GAN-32). The nil pointer remembers nothing.
type TopologyTries struct {
	tree    *TopologyTree
	members int
	shape   *feasibility.Shape
	took    map[*TopologyDomain]domainTry

	refused   bool   // no domain of level took all members
	refusedAt uint64 // the last change of the root at that time
	level     int
}

// domainTry says how many members a domain took, and its last change at that time.
type domainTry struct {
	changed uint64
	took    int
}

// maxDomainTries bounds the domains that are remembered for a gang.
const maxDomainTries = 1024

// TopologyTries returns the tries of members of a gang, those of one task group, in the domains of t; nil: they have
// several shapes. They are forgotten when other members are tried.
func (g *Gangs) TopologyTries(a *objects.Application, t *TopologyTree, members []MemberGroup) *TopologyTries {
	if len(members) != 1 {
		return nil
	}
	tries := g.tries[a]
	if tries == nil || tries.tree != t || tries.shape != members[0].Shape || tries.members != len(members[0].Asks) {
		if g.tries == nil {
			g.tries = map[*objects.Application]*TopologyTries{}
		}
		tries = &TopologyTries{tree: t, members: len(members[0].Asks), shape: members[0].Shape,
			took: map[*TopologyDomain]domainTry{}}
		g.tries[a] = tries
	}
	tries.refused = false
	return tries
}

// Took returns how many of all members d took, if it has not changed since.
func (t *TopologyTries) Took(d *TopologyDomain) (n int, known bool) {
	if t == nil {
		return 0, false
	}
	x, known := t.took[d]
	return x.took, known && x.changed == d.Changed()
}

// Remember records how many of all members d took.
func (t *TopologyTries) Remember(d *TopologyDomain, took int) {
	if t == nil {
		return
	}
	if len(t.took) == maxDomainTries {
		clear(t.took)
	}
	t.took[d] = domainTry{d.Changed(), took}
}

// Members returns how many members the tries are of; -1: they are of none.
func (t *TopologyTries) Members() int {
	if t == nil {
		return -1
	}
	return t.members
}

// Refuse records that no domain of a level took all members.
func (t *TopologyTries) Refuse(level int) {
	if t != nil {
		t.refused, t.refusedAt, t.level = true, t.tree.Root().Changed(), level
	}
}

// mayFit reports whether a domain below d, of the level at which none took all members, has changed since and might
// take them by the sum of what its nodes have free.
func (t *TopologyTries) mayFit(d *TopologyDomain, requested resources.Vector) bool {
	switch {
	case d.Changed() <= t.refusedAt:
		return false
	case d.Level() == t.level:
		return d.Free().Covers(requested)
	}
	return slices.ContainsFunc(d.Domains(), func(below *TopologyDomain) bool { return t.mayFit(below, requested) })
}

// refusedByDomains reports whether no domain took all members of the gang of a when it was last planned, and none that
// has changed since might.
func (g *Gangs) refusedByDomains(a *objects.Application) bool {
	tries := g.tries[a]
	if tries == nil || !tries.refused {
		return false
	}
	g.topology.update()
	var requested resources.Vector
	if tries.shape.RequiredNode() == "" {
		requested.AddTimes(tries.shape.Vector(), int64(tries.members))
	}
	return g.topology.has(tries.tree) && !tries.mayFit(tries.tree.Root(), requested)
}

// ForgetRefusal has the gang of a planned again whether or not nodes change.
func (g *Gangs) ForgetRefusal(a *objects.Application) {
	if tries := g.tries[a]; tries != nil {
		tries.refused = false
	}
}
