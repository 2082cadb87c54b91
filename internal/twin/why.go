package twin

import "github.com/canopy-scheduler/canopy/pkg/scheduler"

// obstacle is what stands in the way of a pending ask, the first it meets.
func (t *Twin) obstacle(c *counts, w *work) scheduler.Obstacle {
	a := t.app(w.ask.App)
	if w.nominated != "" {
		return scheduler.WaitsForVictims
	}
	if find(t.appsInOrder(c, t.queue(a.leaf)), func(x *app) bool { return x == a }) == nil {
		return scheduler.WaitsToStart
	}
	if obstacle, limited := t.limited(c, w); limited {
		return obstacle
	}
	if !t.withinQuota(c, w) {
		return scheduler.OverMax
	}
	if w.ask.RequiredNode != "" && t.node(w.ask.RequiredNode) == nil {
		return scheduler.UnknownNode
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
