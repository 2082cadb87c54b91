package objects

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// RefreshShares updates the denominators of fair shares after the cluster or the configuration
// changed, sorts every level again, and requeues unschedulable asks. The caller must call it before
// a decision and before it reads a Share. It does nothing if nothing changed, and takes one pass
// over the queues for any number of changed nodes.
func (p *Partition) RefreshShares() {
	if len(p.journal.order.joining) == 0 && !p.journal.order.sharesStale && !p.journal.retries.requeueRequested {
		return
	}
	p.journal.order.indexJoining()
	if p.journal.order.sharesStale {
		p.journal.order.sharesStale = false
		p.journal.order.setShareDenominators(p.root, p.journal.order.clusterFairMax())
	}
	p.journal.retries.requeue()
}

// clusterFairMax is the fair max of root: the capacity of the cluster (ORD-20). A resource that no
// node has is Unmeasured.
func (o *ordering) clusterFairMax() resources.Denominators {
	o.namesGivenAtRefresh = o.names.Assigned()
	fairMax := make(resources.Denominators, o.names.Len())
	for k := range fairMax {
		fairMax[k] = resources.Unmeasured
		if n := o.root.Capacity().At(resources.Index(k)); n > 0 {
			fairMax[k] = n
		}
	}
	return fairMax
}

// setShareDenominators sets the denominators of q and of all queues below it. fairMax is that of
// the queue above. From root down, each max overwrites the fair max of its resources; the guarantee
// of the queue itself overwrites both (ORD-17, ORD-19, ORD-20). In an empty cluster no max counts.
func (o *ordering) setShareDenominators(q *Queue, fairMax resources.Denominators) {
	maxCounts := len(q.quota.Max()) > 0 && !o.root.Capacity().IsZero()
	guaranteed := q.quota.Guaranteed()
	q.shareDenominators = fairMax
	if maxCounts || len(guaranteed) > 0 { // else queues share the memory of the one above
		q.shareDenominators = append(q.denominatorBuffer[:0], fairMax...)
	}
	if maxCounts {
		overlay(q.shareDenominators, q.quota.Max())
	}
	if len(q.byName) == 0 {
		overlay(q.shareDenominators, guaranteed)
		return
	}
	fairMax = q.shareDenominators
	if len(guaranteed) > 0 {
		fairMax = slices.Clone(fairMax)
		overlay(q.shareDenominators, guaranteed)
	}
	for _, c := range q.byName {
		o.setShareDenominators(c, fairMax)
		c.key.Share = c.Share()
	}
	q.children.Resort()
}

// fairMaxBelow is the fair max that setShareDenominators passes to the queues below q.
func (o *ordering) fairMaxBelow(q *Queue) resources.Denominators {
	fairMax := o.clusterFairMax()
	if o.root.Capacity().IsZero() {
		return fairMax
	}
	for _, q := range q.pathFromRoot() {
		overlay(fairMax, q.quota.Max())
	}
	return fairMax
}

// overlay replaces the denominators of the resources that b bounds.
func overlay(d resources.Denominators, b resources.LimitVector) {
	for k := range d {
		if n, ok := b.At(resources.Index(k)); ok {
			d[k] = max(n, 0)
		}
	}
}

// rebuildOrdering rebuilds every index and every priority, from the applications up; but for the orders of asks where
// no priority of theirs has changed. It is for changes that can affect any of them, such as a new configuration.
func (p *Partition) rebuildOrdering() {
	p.deadlines.ramping = nil
	p.journal.post(Change{Kind: Rebuilding})
	p.rebuildAccounts()
	p.journal.order.applyNodeOrder(&p.conf)
	p.journal.order.setShareDenominators(p.root, p.journal.order.clusterFairMax())
	p.rebuildOrderingBelow(p.root)
	var nodes, unschedulable []*Node
	for _, n := range p.nodes {
		n.key.Score = p.journal.order.scorer.score(n)
		switch {
		case n.schedulable:
			nodes = append(nodes, n)
		case n.entry.Indexed():
			unschedulable = append(unschedulable, n)
		}
	}
	p.journal.order.schedulable.Fill(nodes)
	p.journal.order.unschedulable.Fill(unschedulable)
}

// rebuild rebuilds the order of the groups, if a configuration that enables or disables priority has changed it:
// nothing else that a configuration says has a part in it.
func (s *askGroups) rebuild(priorityDisabled bool) {
	changed := slices.ContainsFunc(s.list, func(g *AskGroup) bool {
		for _, list := range [][]*Allocation{g.SchedulableAsks(), g.unschedulableAsks()} {
			if len(list) > 0 { // all of a group have the same priority
				return list[0].key.Priority != list[0].ask.effectivePriority(priorityDisabled)
			}
		}
		return false
	})
	if changed {
		s.order.Fill(nil)
	}
	for _, g := range s.list {
		if changed {
			g.entry.Reset()
			g.refreshPriorities(priorityDisabled)
		}
		g.clearRefused()
		g.requeue()
	}
}

// refreshPriorities updates the priorities of asks after a configuration that enables or
// disables priority (PRI-21, PRI-24). All asks of a group have the same priority, so their order
// stays.
func (g *AskGroup) refreshPriorities(priorityDisabled bool) {
	for _, list := range [][]*Allocation{g.SchedulableAsks(), g.unschedulableAsks()} {
		for _, x := range list {
			x.key.Priority = x.ask.effectivePriority(priorityDisabled)
		}
	}
}

func (p *Partition) rebuildOrderingBelow(q *Queue) {
	p.journal.order.refitQueue(q)
	for _, c := range q.byName {
		p.rebuildOrderingBelow(c)
	}
	q.rebuildMembers(&p.deadlines.ramping, p.conf.PriorityDisabled)
}

// rebuildMembers rebuilds the orders and the priority of q from its children or applications.
// Applications that ramp up by time are added to r. Requires: none of its applications is there.
func (q *Queue) rebuildMembers(r *ramping, priorityDisabled bool) {
	q.priorities = policies.PriorityCounter{}
	q.children.Fill(nil)
	q.apps.Fill(nil)
	q.clearStarting()
	for _, c := range q.byName {
		c.entry.Reset()
		q.priorities.Add(c.CurrentPriority())
		c.reindexInParent()
	}
	for _, a := range q.byID {
		a.entry.Reset()
		a.resetStarting()
		a.key.Shares = a.key.Shares[:0]
		a.rekey()
		q.priorities.Add(a.key.Priority)
		r.add(a)
		a.askGroups.rebuild(priorityDisabled)
	}
	for _, a := range q.byID {
		q.reindexStarting(a, a.isStarting())
	}
	for _, a := range q.byID {
		a.reindexEntry()
	}
}
