package scheduler

import (
	"fmt"
	"iter"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/gangscheduling"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/reservation"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// The members of a gang with virtual placeholders are placed together. When the first of them has its turn, nodes are
// found for all, each beside those before it; if there are any, all are placed by the same decision, and if not, none
// is, and the gang leaves the order until something is freed (GAN-20, GAN-21).

// gangMember is a member of a gang, and the node on which it is placed.
type gangMember struct {
	ask  *objects.Allocation
	node *objects.Node
}

// gangPlan has the nodes on which the members of a gang are placed. Nothing changes until all have a node.
type gangPlan struct {
	members []gangMember
	used    map[*objects.Node]resources.Vector // by the members
}

// planGang finds nodes for the members of a together, in c.gangPlan. ok: all have one. Otherwise it records why not.
// Requires: the gang is ready.
func (c *Core) planGang(a *objects.Application, now time.Time) (ok bool) {
	members := gangscheduling.Members(c.part, a)
	if reason := c.gangRefusal(a, members, now); reason != "" {
		c.gangPlan = gangPlan{}
		c.gangs.Refuse(a, members, reason)
		return false
	}
	return true
}

// gangRefusal finds nodes for the members of a together, and is why it found none; empty: all have one.
func (c *Core) gangRefusal(a *objects.Application, members []gangscheduling.MemberGroup, now time.Time) string {
	if by, allowed, of, blocked := gangscheduling.BlockedTogether(a, members); blocked {
		return fmt.Sprintf("%s allows %d of %d members", by, allowed, of)
	}
	if !gangscheduling.FitsCapacity(c.part, members) {
		return "the cluster has not enough free"
	}
	c.gangPlan = gangPlan{used: map[*objects.Node]resources.Vector{}}
	reason := c.planInTopology(a, members)
	if reason != "" && c.oracle != nil {
		c.retryRefused(now) // the RM may have refused nodes
	}
	return reason
}

// planInTopology finds nodes for the members of a, in topology domains for those of task groups that ask for some, and
// is why it found none; empty: all have one (GAN-30).
func (c *Core) planInTopology(a *objects.Application, members []gangscheduling.MemberGroup) string {
	if !a.Gang().HasTopology() {
		return c.planEach(members)
	}
	c.gangs.ForgetRefusal(a)
	onNodes, groups, others := gangscheduling.ByTopology(a, members)
	if reason := c.planEach(onNodes); reason != "" {
		return reason
	}
	for _, g := range groups {
		if reason := c.planTopology(a, g); reason != "" {
			return reason
		}
	}
	return c.planEach(others)
}

// planEach finds nodes for members, those of one shape after the other, and is why it found none; empty: all have one.
func (c *Core) planEach(members []gangscheduling.MemberGroup) string {
	for _, g := range members {
		if placed := c.planMembersOn(g, c.part.FittingNodes(g.Shape)); placed < len(g.Asks) {
			return fmt.Sprintf("nodes take %d of %d members of task group %s", placed, len(g.Asks),
				g.Asks[placed].Ask().TaskGroup())
		}
	}
	return ""
}

// mayRefuseNodes reports whether a node that has enough resources may be refused to a member, by the RM or by other
// allocations.
func (c *Core) mayRefuseNodes() bool { return c.oracle != nil || c.nodes.MayRefuse() }

// planMembersOn finds nodes for members of one shape among nodes that fit it: for each the first that takes it beside
// those before it. It ends with the first that has none, and returns how many have one. Where nothing but resources
// decides, a node that does not take one of them takes none behind it, so all nodes are visited once.
func (c *Core) planMembersOn(g gangscheduling.MemberGroup, nodes iter.Seq[*objects.Node]) (placed int) {
	if c.mayRefuseNodes() {
		for _, x := range g.Asks {
			if c.planOn(x, nodes) == nil {
				break
			}
			placed++
		}
		return placed
	}
	for n := range nodes {
		for placed < len(g.Asks) && c.gangPlan.add(g.Asks[placed], n) {
			placed++
		}
		if placed == len(g.Asks) {
			break
		}
	}
	return placed
}

// planOn finds the node of one member, which other allocations must leave to it and the RM must accept; nil: there is
// none. A member has no constraints of that kind itself (GAN-28), and its preferences play no part (CON-35).
func (c *Core) planOn(x *objects.Allocation, nodes iter.Seq[*objects.Node]) *objects.Node {
	check := c.nodes.For(x)
	for n := range nodes {
		if check.Allows(n) && c.gangPlan.takes(x, n) && c.accepts(x, n) {
			c.gangPlan.add(x, n)
			return n
		}
	}
	return nil
}

// takes reports whether n takes x beside the members before it. Requires: n fits x without them.
func (p *gangPlan) takes(x *objects.Allocation, n *objects.Node) bool {
	used := p.used[n]
	return used == nil || n.FitsWith(x.Shape(), used)
}

// add plans to place x on n, if n takes it.
func (p *gangPlan) add(x *objects.Allocation, n *objects.Node) bool {
	if !p.takes(x, n) {
		return false
	}
	used := p.used[n]
	used.Add(x.Shape().Vector())
	p.used[n] = used
	p.members = append(p.members, gangMember{x, n})
	return true
}

// truncate takes the members behind the first n out of the plan.
func (p *gangPlan) truncate(n int) {
	for _, m := range p.members[n:] {
		used := p.used[m.node]
		used.Sub(m.ask.Shape().Vector())
		p.used[m.node] = used
	}
	p.members = p.members[:n]
}

// placeReservedGang places the gang that has reserved nodes there, and returns how many members it has (RES-11).
func (c *Core) placeReservedGang(now time.Time) int {
	l := c.part.Reservations()
	for _, g := range reservation.MembersTogether(c.part) {
		for _, x := range g.Asks {
			c.gangPlan.members = append(c.gangPlan.members, gangMember{x, l.Of(x)})
		}
	}
	return c.placeGang(now)
}

// placeGang places the members of the plan, and returns how many there are.
func (c *Core) placeGang(now time.Time) int {
	members := c.gangPlan.members
	c.gangPlan = gangPlan{}
	for _, m := range members {
		c.place(m.ask, m.node, now)
		c.preemption.RecordEnded(preemption.VictimEnd{}, now)
		c.reservations.ReportEnded()
	}
	if len(members) > 0 {
		gangscheduling.KeepDomain(c.part, members[0].ask.Application())
	}
	return len(members)
}
