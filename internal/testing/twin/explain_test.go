package twin

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// obstacle returns the first reason why a pending ask is not placed.
func (t *Twin) obstacle(c *totals, w *allocation) scheduler.PendingReason {
	a := t.app(w.ask.App)
	if w.nominated != "" {
		return scheduler.WaitsForVictims
	}
	if t.replaces(w) != nil {
		return scheduler.ReplacesPlaceholder
	}
	if t.waitsForMembers(w) {
		if _, incomplete := t.members(c, a); incomplete {
			return scheduler.WaitsForMembers
		}
	} else if t.heldBack(w) {
		return scheduler.WaitsForPlaceholder
	}
	if o, lasts := t.permanentObstacle(c, w); lasts {
		return o
	}
	switch {
	case t.held[a.id]:
		return scheduler.ApplicationOnHold
	case slices.ContainsFunc(t.pathQueues(a.leaf), func(q *queue) bool { return t.stopped[q.path] }):
		return scheduler.QueueIsStopped
	case a.leaf == placement.RecoveryQueue:
		return scheduler.InRecoveryQueue
	}
	if find(t.appsInOrder(c, t.queue(a.leaf)), func(x *app) bool { return x == a }) == nil {
		return scheduler.WaitsToStart
	}
	if obstacle, limited := t.limitObstacle(c, w); limited {
		return obstacle
	}
	fitting := filter(t.nodes, func(n *node) bool { return c.fits(n, w.ask) })
	if w.reserved != "" && len(fitting) == 0 && t.withinQuotaOfQueues(c, w) {
		return scheduler.WaitsForReservedNode
	}
	if !t.withinQuota(c, w) {
		for _, q := range t.pathQueues(a.leaf)[1:] {
			if !q.max().Headroom(c.allocated[q.path]).Allows(w.ask.Amounts) {
				return scheduler.NoQueueHeadroom
			}
		}
		return scheduler.NoClusterHeadroom
	}
	free := func(n *node) bool { return c.available(n).Sub(c.nominatedOnNode[n.id]).Covers(w.ask.Amounts) }
	if len(fitting) == 0 && find(t.nodes, func(n *node) bool { return n.onlyRefuses(w.ask) && free(n) }) != nil {
		return scheduler.NodesRefusedBefore
	}
	if len(fitting) == 0 {
		return scheduler.NoNodeFits
	}
	if find(fitting, func(n *node) bool { return t.affinityAllows(n, w.ask, nil) }) == nil {
		return scheduler.NoNodeForAffinity
	}
	if t.waitsForMembers(w) {
		return scheduler.GangDoesNotFit
	}
	if find(fitting, func(n *node) bool { return t.predicatesPass(n, w.ask) }) == nil {
		return scheduler.NodesRejectedByRM
	}
	return scheduler.WaitsForTurn
}

// permanentObstacle returns the reason why w would not be placed in an empty cluster, if there is one.
func (t *Twin) permanentObstacle(c *totals, w *allocation) (scheduler.PendingReason, bool) {
	a := t.app(w.ask.App)
	for _, b := range c.apps[a.id].limits {
		if !b.MaxResources.Allows(w.ask.Amounts) {
			return scheduler.AskExceedsLimit, true
		}
	}
	for _, q := range t.pathQueues(a.leaf)[1:] {
		if !q.conf.Max.Allows(w.ask.Amounts) {
			return scheduler.AskExceedsMax, true
		}
	}
	if id := w.ask.RequiredNode(); id != "" && t.node(id) == nil {
		return scheduler.UnknownNode, true
	}
	large := func(n *node) bool { return n.admitsBut(w.ask) && n.total.Covers(w.ask.Amounts) }
	switch {
	case find(t.nodes, large) != nil:
		return 0, false
	case w.ask.RequiredNode() != "" && !t.node(w.ask.RequiredNode()).constraintsAdmit(w.ask):
		return scheduler.NoNodeAdmitted, true
	case w.ask.RequiredNode() != "":
		return scheduler.AskExceedsNodes, true
	case find(t.nodes, func(n *node) bool { return n.schedulable }) == nil:
		return scheduler.NoSchedulableNode, true
	case find(t.nodes, func(n *node) bool { return n.admitsBut(w.ask) }) == nil:
		return scheduler.NoNodeAdmitted, true
	}
	for name, n := range w.ask.Amounts.All() {
		if n > 0 && c.capacity.Get(name) == 0 {
			return scheduler.NoSuchResource, true
		}
	}
	return scheduler.AskExceedsNodes, true
}
