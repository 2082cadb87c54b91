package scheduler

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// The members of a task group with a topology are planned in the domains that it asks for (GAN-29 to GAN-32). A domain
// whose free resources do not suffice, by the sum over its nodes, is passed over without a look at its nodes.

// topologyPlanner plans the members of one task group. It adds to the plan of the gang.
type topologyPlanner struct {
	c    *Core
	tree *objects.TopologyTree
}

// planTopology finds nodes for the members of a task group, and is why it found none; empty: all have one.
func (c *Core) planTopology(a *objects.Application, g objects.TaskGroupMembers) string {
	t := g.Topology
	p := topologyPlanner{c, c.part.Gangs().TopologyTree(a, t.Levels)}
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
		return fmt.Sprintf("nodes take %d of %d members of task group %s", countMembers(g.Members)-rest, countMembers(g.Members), g.Name)
	}
	_, most := p.fullest(newDomainHeap(p.tree.Root().AtLevel(t.Required), g.Members), g.Members)
	return fmt.Sprintf("no domain of %s takes more than %d of %d members of task group %s", t.Levels[t.Required], most, countMembers(g.Members), g.Name)
}

// placeInOne plans members in one of some domains: in the one that has the least free of those that take all of them, the
// first of equal ones. ok is false if none does.
func (p *topologyPlanner) placeInOne(domains []*objects.TopologyDomain, members []objects.MemberGroup) (ok bool) {
	requested := objects.RequestedFrom(members)
	var candidates []*objects.TopologyDomain
	for _, d := range domains {
		if d.Free().Covers(requested) {
			candidates = append(candidates, d)
		}
	}
	slices.SortStableFunc(candidates, func(d, e *objects.TopologyDomain) int {
		return cmp.Compare(d.Share(requested), e.Share(requested))
	})
	planned := len(p.c.gangPlan.members)
	for _, d := range candidates {
		if len(p.placeIn(d, members)) == 0 {
			return true
		}
		p.c.gangPlan.truncate(planned)
	}
	return false
}

// placeIn plans as many members in d as it takes, and returns the others: in as few of the domains of d as it can, and then
// on the nodes that are in none of these.
func (p *topologyPlanner) placeIn(d *objects.TopologyDomain, members []objects.MemberGroup) (rest []objects.MemberGroup) {
	rest = members
	if len(d.Domains()) > 0 {
		rest = p.spread(d.Domains(), rest)
	}
	if len(rest) == 0 || len(d.Nodes()) == 0 {
		return rest
	}
	members, rest = rest, nil
	for _, g := range members {
		if placed := p.c.planMembersOn(g, p.c.part.Gangs().FittingNodesOf(p.tree, d, g.Shape)); placed < len(g.Asks) {
			rest = append(rest, objects.MemberGroup{Shape: g.Shape, Asks: g.Asks[placed:]})
		}
	}
	return rest
}

// spread plans members in domains: in one that takes all that are left, as placeInOne, or else in the one that takes most of
// them, and so on. It returns those that no domain takes.
func (p *topologyPlanner) spread(domains []*objects.TopologyDomain, members []objects.MemberGroup) (rest []objects.MemberGroup) {
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

// fullest is the domain of h that takes most of some members, the first of equal ones, and how many it takes; zero: none
// takes any. It plans nothing.
func (p *topologyPlanner) fullest(h *domainHeap, members []objects.MemberGroup) (fullest *objects.TopologyDomain, most int) {
	planned, best := len(p.c.gangPlan.members), domainSlots{}
	var tried []domainSlots
	for h.Len() > 0 && !best.before(h.all[0]) {
		x := heap.Pop(h).(domainSlots)
		rest := p.placeIn(x.domain, members)
		took := len(p.c.gangPlan.members) - planned
		p.c.gangPlan.truncate(planned)
		if taken := (domainSlots{x.domain, x.number, took}); took > 0 && (best.domain == nil || taken.before(best)) {
			best = taken
		}
		if len(members) == 1 && len(rest) > 0 && !p.c.mayRefuseNodes() {
			x.slots = took // of one shape it will take no more
		}
		tried = append(tried, x)
	}
	for _, x := range tried {
		heap.Push(h, x)
	}
	return best.domain, best.slots
}

// countMembers is how many asks groups have.
func countMembers(groups []objects.MemberGroup) (n int) {
	for _, g := range groups {
		n += len(g.Asks)
	}
	return n
}

// domainSlots is a domain, its position among the others, and at least how many members it takes.
type domainSlots struct {
	domain *objects.TopologyDomain
	number int
	slots  int
}

// before reports whether x has more slots than y, or as many and is the first.
func (x domainSlots) before(y domainSlots) bool {
	return x.slots > y.slots || x.slots == y.slots && x.domain != nil && x.number < y.number
}

// domainHeap has the domain first that may take most members.
type domainHeap struct{ all []domainSlots }

// newDomainHeap is a heap of domains for members.
func newDomainHeap(domains []*objects.TopologyDomain, members []objects.MemberGroup) *domainHeap {
	h := &domainHeap{make([]domainSlots, 0, len(domains))}
	for i, d := range domains {
		x := domainSlots{d, i, 0}
		for _, g := range members {
			if g.Shape.RequiredNode() != "" { // the node may be unschedulable, and count in no domain
				x.slots += len(g.Asks)
				continue
			}
			x.slots += d.Slots(g.Shape.Vector(), len(g.Asks))
		}
		h.all = append(h.all, x)
	}
	heap.Init(h)
	return h
}

// domains are the domains of h in their order.
func (h *domainHeap) domains() (all []*objects.TopologyDomain) {
	inOrder := slices.SortedFunc(slices.Values(h.all), func(x, y domainSlots) int { return x.number - y.number })
	for _, x := range inOrder {
		all = append(all, x.domain)
	}
	return all
}

func (h *domainHeap) remove(d *objects.TopologyDomain) {
	heap.Remove(h, slices.IndexFunc(h.all, func(x domainSlots) bool { return x.domain == d }))
}

func (h *domainHeap) Len() int           { return len(h.all) }
func (h *domainHeap) Less(i, j int) bool { return h.all[i].before(h.all[j]) }
func (h *domainHeap) Swap(i, j int)      { h.all[i], h.all[j] = h.all[j], h.all[i] }
func (h *domainHeap) Push(x any)         { h.all = append(h.all, x.(domainSlots)) }
func (h *domainHeap) Pop() any {
	last := h.all[len(h.all)-1]
	h.all = h.all[:len(h.all)-1]
	return last
}
