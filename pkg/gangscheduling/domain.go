package gangscheduling

import (
	"maps"

	"github.com/canopy-scheduler/canopy/pkg/gangs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// A gang that was placed together keeps its required topology domains: asks that come later, or were too many, are
// placed in the domain of the members that run (GAN-34). They have its labels as a further constraint, which everything
// that looks for a node observes: the order, preemption, reservations and explanations.

// InDomain returns a new ask of a, limited to the domain of the members of its task group that run; the ask itself if
// it is not.
func InDomain(a *objects.Application, ask *objects.Ask) *objects.Ask {
	if ask.TaskGroup() == "" || ask.Placeholder || a.Gang() == nil || !a.Gang().RequiresTopology() {
		return ask
	}
	labels := domainOf(a, ask.TaskGroup())
	if labels == nil || maps.Equal(ask.Constraints().Domain(), labels) {
		return ask
	}
	limited := objects.AskConstraints{Nodes: ask.Constraints().InDomain(labels), Affinity: ask.Affinity()}
	return ask.WithConstraints(&limited)
}

// domainOf returns the labels of the domain in which members of a task group run that requires one; nil: none do, or
// the gang waits or has timed out. If they are in several, as after a change of labels, it is that of the first by key.
func domainOf(a *objects.Application, taskGroup string) map[string]string {
	t := a.Gang().Topology(taskGroup)
	if t == nil || !t.Requires() || !a.Gang().PlacedTogether(taskGroup) {
		return nil
	}
	var first *objects.Allocation
	for x := range a.EachBound {
		if !x.Ask().Placeholder && x.Ask().TaskGroup() == taskGroup && (first == nil || x.Key() < first.Key()) &&
			domainLabels(x.Node(), t) != nil {
			first = x
		}
	}
	if first == nil {
		return nil
	}
	return domainLabels(first.Node(), t)
}

// domainLabels returns the labels of the domain of n that t requires; nil: n is in none.
func domainLabels(n *objects.Node, t *gangs.Topology) map[string]string {
	labels := map[string]string{}
	for _, key := range t.Levels[:t.Required+1] {
		value, ok := n.Constraints().Label(key)
		if !ok {
			return nil
		}
		labels[key] = value
	}
	return labels
}

// KeepDomain limits the pending asks of a to the domains of its members that run, after its gang was placed, here or
// before the RM reported members.
func KeepDomain(p *objects.Partition, a *objects.Application) {
	if a.Gang() == nil || a.PendingAskCount() == 0 || !a.Gang().RequiresTopology() || a.Gang().Waits() {
		return
	}
	var limited []*objects.Allocation
	for group := range a.EachAskGroup {
		if first := group.FirstPending().Ask(); InDomain(a, first) != first {
			limited = append(limited, group.PendingAsks()...)
		}
	}
	for _, x := range limited {
		objects.ReplaceAsk(p, x, InDomain(a, x.Ask()))
	}
}
