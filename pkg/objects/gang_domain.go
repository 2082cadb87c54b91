package objects

import (
	"maps"

	"github.com/canopy-scheduler/canopy/pkg/gangs"
)

// A gang that was placed together keeps its required topology domains: asks that come later, or were too many, are
// placed in the domain of the members that run (GAN-34). They have its labels as a further constraint, which everything
// that looks for a node observes: the order, preemption, reservations and explanations.

// inDomain is a new ask of a, limited to the domain of the members of its task group that run; the ask itself if it is
// not.
func (l GangLedger) inDomain(a *Application, ask *Ask) *Ask {
	if ask.TaskGroup() == "" || ask.Placeholder || a.gang == nil || !a.gang.RequiresTopology() {
		return ask
	}
	labels := l.domainOf(a, ask.TaskGroup())
	if labels == nil || maps.Equal(ask.Constraints().Domain(), labels) {
		return ask
	}
	limited := AskConstraints{Nodes: ask.Constraints().InDomain(labels), Affinity: ask.Affinity()}
	return ask.WithConstraints(&limited)
}

// domainOf is the labels of the domain in which members of a task group run that requires one; nil: none do, or the
// gang waits or has timed out. If they are in several, as after a change of labels, it is that of the first by key.
func (l GangLedger) domainOf(a *Application, taskGroup string) map[string]string {
	t := a.gang.Topology(taskGroup)
	if t == nil || !t.Requires() || !a.gang.PlacedTogether(taskGroup) {
		return nil
	}
	var first *Allocation
	for _, x := range a.allocations {
		if !x.Pending() && !x.ask.Placeholder && x.ask.TaskGroup() == taskGroup && (first == nil || x.Key() < first.Key()) &&
			x.node.domainLabels(t) != nil {
			first = x
		}
	}
	if first == nil {
		return nil
	}
	return first.node.domainLabels(t)
}

// domainLabels are the labels of the domain of n that t requires; nil: n is in none.
func (n *Node) domainLabels(t *gangs.Topology) map[string]string {
	labels := map[string]string{}
	for _, key := range t.Levels[:t.Required+1] {
		value, ok := n.info.Label(key)
		if !ok {
			return nil
		}
		labels[key] = value
	}
	return labels
}

// KeepDomain limits the pending asks of a to the domains of its members that run, after its gang was placed, here or
// before the RM reported members.
func (l GangLedger) KeepDomain(a *Application) {
	if a.gang == nil || a.pendingCount == 0 || !a.gang.RequiresTopology() || a.gang.Waits() {
		return
	}
	var limited []*Allocation
	for _, group := range a.askGroups.list {
		if len(group.PendingAsks()) > 0 && l.inDomain(a, group.PendingAsks()[0].ask) != group.PendingAsks()[0].ask {
			limited = append(limited, group.PendingAsks()...)
		}
	}
	for _, x := range limited {
		l.changeAsk(x, l.inDomain(a, x.ask))
	}
}
