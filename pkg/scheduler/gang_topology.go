package scheduler

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/gangscheduling"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// The members of a task group with a topology are planned in the domains that it asks for (GAN-29 to GAN-32). A domain
// whose free resources do not suffice, by the sum over its nodes, is passed over without a look at its nodes.

// topologyPlanner plans the members of one task group. It adds to the plan of the gang.
type topologyPlanner struct {
	c     *Core
	tree  *gangscheduling.TopologyTree
	tries *gangscheduling.TopologyTries // nil: more than the resources of a domain decides what it takes
}

// planTopology finds nodes for the members of a task group, and is why it found none; empty: all have one.
func (c *Core) planTopology(a *objects.Application, g gangscheduling.TaskGroupMembers) string {
	t := g.Topology
	p := topologyPlanner{c: c, tree: c.gangs.TopologyTree(a, t.Levels)}
	if len(c.gangPlan.members) == 0 && !c.mayRefuseNodes() {
		p.tries = c.gangs.TopologyTries(a, p.tree, g.Members)
	}
	for level := t.First(); level >= max(t.Required, 0); level-- {
		if p.placeInOne(p.tree.Root().AtLevel(level), g.Members) {
			return ""
		}
	}
	if !t.Requires() {
		rest := countMembers(p.placeIn(p.tree.Root(), g.Members))
		if rest == 0 {
			return ""
		}
		return fmt.Sprintf("nodes take %d of %d members of task group %s", countMembers(g.Members)-rest,
			countMembers(g.Members), g.Name)
	}
	most := p.mostInOne(p.tree.Root().AtLevel(t.Required), g.Members)
	p.tries.Refuse(t.Required)
	return fmt.Sprintf("no domain of %s takes more than %d of %d members of task group %s", t.Levels[t.Required], most,
		countMembers(g.Members), g.Name)
}

// placeInOne plans members in one of some domains: in the one that has the least free of those that take all of them,
// the first of equal ones. ok is false if none does.
func (p *topologyPlanner) placeInOne(domains []*gangscheduling.TopologyDomain,
	members []gangscheduling.MemberGroup) (ok bool) {
	requested := gangscheduling.RequestedFrom(members)
	var candidates []*gangscheduling.TopologyDomain
	for _, d := range domains {
		if d.Free().Covers(requested) && !p.tookFewer(d, members) {
			candidates = append(candidates, d)
		}
	}
	slices.SortStableFunc(candidates, func(d, e *gangscheduling.TopologyDomain) int {
		return cmp.Compare(d.Share(requested), e.Share(requested))
	})
	planned := len(p.c.gangPlan.members)
	for _, d := range candidates {
		rest := p.placeIn(d, members)
		if len(rest) == 0 {
			return true
		}
		p.c.gangPlan.truncate(planned)
		p.remember(d, members, rest)
	}
	return false
}

// tookFewer reports whether it is known that d does not take all of some members.
func (p *topologyPlanner) tookFewer(d *gangscheduling.TopologyDomain, members []gangscheduling.MemberGroup) bool {
	took, known := p.tookBefore(d, members)
	return known && took < countMembers(members)
}

// mostInOne returns how many of some members fit in the domain that takes most of them. It plans nothing.
func (p *topologyPlanner) mostInOne(domains []*gangscheduling.TopologyDomain,
	members []gangscheduling.MemberGroup) (most int) {
	var others []*gangscheduling.TopologyDomain
	for _, d := range domains {
		if took, known := p.tookBefore(d, members); known {
			most = max(most, took)
		} else {
			others = append(others, d)
		}
	}
	planned := len(p.c.gangPlan.members)
	for _, d := range others {
		if slotsFor(d, members) <= most {
			continue
		}
		rest := p.placeIn(d, members)
		most = max(most, len(p.c.gangPlan.members)-planned)
		p.c.gangPlan.truncate(planned)
		p.remember(d, members, rest)
	}
	return most
}

// tookBefore returns how many of some members d took when it was last tried, if it has not changed since.
func (p *topologyPlanner) tookBefore(d *gangscheduling.TopologyDomain,
	members []gangscheduling.MemberGroup) (n int, known bool) {
	if countMembers(members) != p.tries.Members() {
		return 0, false
	}
	return p.tries.Took(d)
}

// remember records that d did not take rest of some members.
func (p *topologyPlanner) remember(d *gangscheduling.TopologyDomain, members, rest []gangscheduling.MemberGroup) {
	if n := countMembers(members); n == p.tries.Members() {
		p.tries.Remember(d, n-countMembers(rest))
	}
}

// placeIn plans as many members in d as it takes, and returns the others: in as few of the domains of d as it can, and
// then on the nodes that are in none of these.
func (p *topologyPlanner) placeIn(d *gangscheduling.TopologyDomain,
	members []gangscheduling.MemberGroup) (rest []gangscheduling.MemberGroup) {
	rest = members
	if len(d.Domains()) > 0 {
		rest = p.spread(d.Domains(), rest)
	}
	if len(rest) == 0 || len(d.Nodes()) == 0 {
		return rest
	}
	members, rest = rest, nil
	for _, g := range members {
		if placed := p.c.planMembersOn(g, p.c.gangs.FittingNodesOf(p.tree, d, g.Shape)); placed < len(g.Asks) {
			rest = append(rest, gangscheduling.MemberGroup{Shape: g.Shape, Asks: g.Asks[placed:]})
		}
	}
	return rest
}

// spread plans members in domains: in one that takes all that are left, as placeInOne, or else in the one that takes
// most of them, and so on. It returns those that no domain takes.
func (p *topologyPlanner) spread(domains []*gangscheduling.TopologyDomain,
	members []gangscheduling.MemberGroup) (rest []gangscheduling.MemberGroup) {
	h := newDomainHeap(domains, members)
	for rest = members; len(rest) > 0 && h.Len() > 0; {
		if h.all[0].slots >= countMembers(rest) && p.placeInOne(h.domains(), rest) {
			return nil
		}
		fullest, most := p.fullest(h, rest)
		if most == 0 {
			return rest
		}
		rest = p.placeIn(fullest, rest)
		h.remove(fullest)
	}
	return rest
}

// fullest is the domain of h that takes most of some members, the first of equal ones, and how many it takes; zero:
// none takes any. It plans nothing.
func (p *topologyPlanner) fullest(h *domainHeap,
	members []gangscheduling.MemberGroup) (fullest *gangscheduling.TopologyDomain, most int) {
	planned, best := len(p.c.gangPlan.members), domainSlots{}
	var tried []domainSlots
	for h.Len() > 0 && !best.before(h.all[0]) {
		x := heap.Pop(h).(domainSlots)
		took, known := p.tookBefore(x.domain, members)
		if !known {
			rest := p.placeIn(x.domain, members)
			took = len(p.c.gangPlan.members) - planned
			p.c.gangPlan.truncate(planned)
			p.remember(x.domain, members, rest)
		}
		if taken := (domainSlots{x.domain, x.number, took}); took > 0 && (best.domain == nil || taken.before(best)) {
			best = taken
		}
		if len(members) == 1 && took < countMembers(members) && !p.c.mayRefuseNodes() {
			x.slots = took // of one shape it will take no more
		}
		tried = append(tried, x)
	}
	for _, x := range tried {
		heap.Push(h, x)
	}
	return best.domain, best.slots
}

// countMembers returns the number of asks of groups.
func countMembers(groups []gangscheduling.MemberGroup) (n int) {
	for _, g := range groups {
		n += len(g.Asks)
	}
	return n
}

// slotsFor is at least the number of some members that d takes.
func slotsFor(d *gangscheduling.TopologyDomain, members []gangscheduling.MemberGroup) (n int) {
	for _, g := range members {
		if g.Shape.RequiredNode() != "" { // the node may be unschedulable, and count in no domain
			n += len(g.Asks)
			continue
		}
		n += d.Slots(g.Shape.Vector(), len(g.Asks))
	}
	return n
}
