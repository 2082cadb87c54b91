package twin

import "github.com/canopy-scheduler/canopy/pkg/scheduler"

// obstacle is what stands in the way of a pending ask, the first it meets.
func (t *Twin) obstacle(c *counts, w *work) scheduler.Obstacle {
	a := t.app(w.ask.App)
	if w.nominated != "" {
		return scheduler.WaitsForVictims
	}
	if o, lasts := t.lasting(c, w); lasts {
		return o
	}
	if find(t.appsInOrder(c, t.queue(a.leaf)), func(x *app) bool { return x == a }) == nil {
		return scheduler.WaitsToStart
	}
	if obstacle, limited := t.limited(c, w); limited {
		return obstacle
	}
	if !t.withinQuota(c, w) {
		for _, q := range t.along(a.leaf)[1:] {
			if !q.conf.Max.Headroom(c.allocated[q.path]).Allows(w.ask.Amounts) {
				return scheduler.OverMax
			}
		}
		return scheduler.ClusterFull
	}
	room := filter(t.nodes, func(n *node) bool { return c.hasRoom(n, w.ask) })
	if len(room) == 0 {
		return scheduler.NoNodeFits
	}
	if find(room, func(n *node) bool { return t.accepts(n, w.ask) }) == nil {
		return scheduler.NodesRefuse
	}
	return scheduler.WaitsForTurn
}

// lasting is what would keep w from being placed in an empty cluster, if anything would.
func (t *Twin) lasting(c *counts, w *work) (scheduler.Obstacle, bool) {
	a := t.app(w.ask.App)
	for _, b := range c.apps[a.id].bounds {
		if !b.MaxResources.Allows(w.ask.Amounts) {
			return scheduler.AboveLimit, true
		}
	}
	for _, q := range t.along(a.leaf)[1:] {
		if !q.conf.Max.Allows(w.ask.Amounts) {
			return scheduler.AboveMax, true
		}
	}
	if id := w.ask.RequiredNode; id != "" && t.node(id) == nil {
		return scheduler.UnknownNode, true
	}
	large := func(n *node) bool { return n.accepts(w.ask) && n.total.Covers(w.ask.Amounts) }
	switch {
	case find(t.nodes, large) != nil:
		return 0, false
	case w.ask.RequiredNode != "":
		return scheduler.AboveNode, true
	case find(t.nodes, func(n *node) bool { return n.schedulable }) == nil:
		return scheduler.NoNodes, true
	}
	for name, n := range w.ask.Amounts.All() {
		if n > 0 && c.capacity.Get(name) == 0 {
			return scheduler.NoSuchResource, true
		}
	}
	return scheduler.AboveNode, true
}
