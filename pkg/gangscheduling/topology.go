package gangscheduling

import (
	"iter"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/gangs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/topology"
)

// Task groups may ask for topology domains (GAN-29). What is free in these is kept by topologyTrees.

// TopologyTree is the nodes of a partition by topology domains.
type TopologyTree = topology.Tree[*objects.Node]

// TopologyDomain is one of these domains.
type TopologyDomain = topology.Domain[*objects.Node]

// TaskGroupMembers is the members of a task group that has a topology, in the order of Members.
type TaskGroupMembers struct {
	Name     string
	Topology *gangs.Topology
	Members  []MemberGroup
}

// ByTopology separates the members of a gang by what their task groups ask for: those of task groups without a topology
// that require a node, those of each task group with one, of which those that require a domain come first, and the
// others (GAN-30).
func ByTopology(a *objects.Application, members []MemberGroup) (onNodes []MemberGroup, groups []TaskGroupMembers,
	others []MemberGroup) {
	for _, g := range members {
		rest := MemberGroup{Shape: g.Shape}
		for _, x := range g.Asks {
			t := a.Gang().Topology(x.Ask().TaskGroup())
			if t == nil {
				rest.Asks = append(rest.Asks, x)
				continue
			}
			i := slices.IndexFunc(groups, func(other TaskGroupMembers) bool { return other.Topology == t })
			if i < 0 {
				i, groups = len(groups), append(groups, TaskGroupMembers{Name: x.Ask().TaskGroup(), Topology: t})
			}
			own := &groups[i].Members
			if n := len(*own); n == 0 || (*own)[n-1].Shape != g.Shape {
				*own = append(*own, MemberGroup{Shape: g.Shape})
			}
			last := &(*own)[len(*own)-1]
			last.Asks = append(last.Asks, x)
		}
		switch {
		case len(rest.Asks) == 0:
		case g.Shape.RequiredNode() != "":
			onNodes = append(onNodes, rest)
		default:
			others = append(others, rest)
		}
	}
	slices.SortFunc(groups, func(g, h TaskGroupMembers) int { return topologyOrder(a, g.Name) - topologyOrder(a, h.Name) })
	return onNodes, groups, others
}

// topologyOrder says when a task group has its turn among those with a topology: those that require a domain come
// first, in the order in which they were declared.
func topologyOrder(a *objects.Application, taskGroup string) (order int) {
	all := a.Gang().Groups()
	order = slices.IndexFunc(all, func(t gangs.TaskGroup) bool { return t.Name == taskGroup })
	if !a.Gang().Topology(taskGroup).Requires() {
		order += len(all)
	}
	return order
}

// TopologyTree returns the topology domains of some labels, for the gang of a. It is valid until the partition changes.
func (g *Gangs) TopologyTree(a *objects.Application, levels []string) *TopologyTree {
	return g.topology.tree(a, levels)
}

// largeDomain is the part of all nodes that a domain has at least, if its nodes are found in the node order.
const largeDomain = 8

// FittingNodesOf yields the nodes of d that fit s now and that no domain below d has, in node order. Those of a small
// domain are sorted, those of a large one are looked for among all that fit s.
func (g *Gangs) FittingNodesOf(t *TopologyTree, d *TopologyDomain, s *feasibility.Shape) iter.Seq[*objects.Node] {
	if s.RequiredNode() != "" || len(d.Nodes())*largeDomain > t.Root().Count() {
		return func(yield func(*objects.Node) bool) {
			for n := range g.part.FittingNodes(s) {
				if t.DomainOf(n) == d && !yield(n) {
					return
				}
			}
		}
	}
	var fitting []*objects.Node
	for _, n := range d.Nodes() {
		if n.Fits(s) {
			fitting = append(fitting, n)
		}
	}
	slices.SortFunc(fitting, objects.CompareNodes)
	return slices.Values(fitting)
}

// RequestedFrom returns what members request together that require no node: these may be placed on nodes that are
// unschedulable, which count in no domain.
func RequestedFrom(members []MemberGroup) (sum resources.Vector) {
	for _, g := range members {
		if g.Shape.RequiredNode() == "" {
			sum.AddTimes(g.Shape.Vector(), int64(len(g.Asks)))
		}
	}
	return sum
}
