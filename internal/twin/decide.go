package twin

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// decide finds the first ask, in the order of queues, applications and asks, that the
// quotas allow and a node takes. nil: there is none.
func (t *Twin) decide() (*work, objects.NodeID) {
	c := t.count()
	nodes := t.nodesInOrder(c)
	for _, w := range t.turns(c, t.root) {
		if _, limited := t.limited(c, w); limited || !t.withinQuota(c, w) {
			continue
		}
		for _, n := range nodes {
			if c.hasRoom(n, w.ask) && t.accepts(n, w.ask) {
				return w, n.id
			}
		}
	}
	return nil, ""
}

// turns are all asks below q that may be considered, the first in turn first.
func (t *Twin) turns(c *counts, q *queue) []*work {
	var turns []*work
	for _, child := range t.childrenInOrder(c, q) {
		turns = append(turns, t.turns(c, child)...)
	}
	for _, a := range t.appsInOrder(c, q) {
		asks := c.apps[a.id].asks
		slices.SortFunc(asks, t.compareAsks)
		turns = append(turns, asks...)
	}
	return turns
}

func (t *Twin) childrenInOrder(c *counts, q *queue) []*queue {
	waiting := filter(q.children, func(q *queue) bool { return !c.pending[q.path].IsZero() })
	return sorted(waiting, func(q *queue) policies.QueueKey { return t.queueKey(c, q) },
		func(a, b *policies.QueueKey) int { return compareQueues(a, b, t.by(q)) })
}

func (t *Twin) appsInOrder(c *counts, q *queue) []*app {
	apps := filter(t.apps, func(a *app) bool { return a.leaf == q.path })
	key := func(a *app) policies.AppKey { return t.appKey(c, a) }
	if q.conf.Sort == policies.StateAware {
		apps = t.oneNew(c, apps, key, t.by(q))
	}
	return sorted(apps, key, func(a, b *policies.AppKey) int {
		return compareApps(a, b, q.conf.Sort, t.by(q))
	})
}

// oneNew leaves out all applications that have not ramped up except the first. One
// that has had its first allocation stands in line for as long as it holds any or
// asks for more.
func (t *Twin) oneNew(
	c *counts, apps []*app, key func(*app) policies.AppKey, by policies.PrioritySort,
) []*app {
	line := filter(apps, func(a *app) bool {
		h := c.apps[a.id]
		return !t.ramped(a) && (len(h.asks) > 0 || a.made > 0 && h.runs > 0)
	})
	line = sorted(line, key, func(a, b *policies.AppKey) int { return compareNew(a, b, by) })
	return filter(apps, func(a *app) bool { return t.ramped(a) || len(line) > 0 && a == line[0] })
}

// ramped reports whether a has enough allocations behind it, or enough time.
func (t *Twin) ramped(a *app) bool {
	return a.made >= policies.RampAllocations || a.made > 0 && !t.now.Before(a.first.Add(policies.RampTime))
}

// withinQuota asks every queue's own maximum, and the cluster (sheet 3.7).
func (t *Twin) withinQuota(c *counts, w *work) bool {
	for _, q := range t.along(t.app(w.ask.App).leaf)[1:] {
		if !q.conf.Max.Headroom(c.allocated[q.path]).Allows(w.ask.Amounts) {
			return false
		}
	}
	return c.capacity.Sub(c.allocated[t.root.path]).Covers(w.ask.Amounts)
}

func (t *Twin) nodesInOrder(c *counts) []*node {
	return sorted(t.nodes, func(n *node) policies.NodeKey { return t.nodeKey(c, n) }, compareNodes)
}

// hasRoom reports whether an ask could run on a node. One that requires a node gets no
// other.
func (c *counts) hasRoom(n *node, ask *objects.Ask) bool {
	return n.accepts(ask) && c.available(n).Sub(c.held[n.id]).Covers(ask.Amounts)
}

// accepts reports whether an ask may run on n at all. One that requires n may although n drains.
func (n *node) accepts(ask *objects.Ask) bool {
	if ask.RequiredNode != "" {
		return ask.RequiredNode == n.id
	}
	return n.schedulable
}

// accepts asks the RM.
func (t *Twin) accepts(n *node, ask *objects.Ask) bool {
	return t.oracle == nil || t.oracle.Fits(ask.Key, n.id)
}

// headroom is the tightest bound from q to the root (sheet 3.7).
func (t *Twin) headroom(c *counts, q *queue) resources.Limit {
	room := resources.LimitFromMap(c.capacity.Map()).Headroom(c.allocated[t.root.path])
	for _, above := range t.along(q.path)[1:] {
		room = room.Tighten(above.conf.Max.Headroom(c.allocated[above.path]))
	}
	return room
}

// sorted returns the list in the order of its keys, each computed once.
func sorted[T any, K any](list []*T, key func(*T) K, compare func(a, b *K) int) []*T {
	keys := make(map[*T]K, len(list))
	for _, x := range list {
		keys[x] = key(x)
	}
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b *T) int {
		ka, kb := keys[a], keys[b]
		return compare(&ka, &kb)
	})
	return list
}
