package twin

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// decide finds the first ask, in the order of queues, applications and asks, that the
// quotas allow and a node takes. nil: there is none.
func (t *Twin) decide() (*allocation, objects.NodeID) {
	c := t.total()
	nodes := t.nodesInOrder(c)
	for _, w := range t.asksInOrder(c, t.root) {
		if _, limited := t.limitObstacle(c, w); limited || !t.withinQuota(c, w) {
			continue
		}
		for _, n := range nodes {
			if c.fits(n, w.ask) && t.predicatesPass(n, w.ask) {
				return w, n.id
			}
		}
	}
	return nil, ""
}

// asksInOrder are all asks below q that may be considered, the first in turn first.
func (t *Twin) asksInOrder(c *totals, q *queue) []*allocation {
	var turns []*allocation
	for _, child := range t.childrenInOrder(c, q) {
		turns = append(turns, t.asksInOrder(c, child)...)
	}
	for _, a := range t.appsInOrder(c, q) {
		asks := c.apps[a.id].asks
		slices.SortFunc(asks, t.compareAsks)
		turns = append(turns, asks...)
	}
	return turns
}

func (t *Twin) childrenInOrder(c *totals, q *queue) []*queue {
	waiting := filter(q.children, func(q *queue) bool { return !c.pending[q.path].IsZero() })
	return sorted(waiting, func(q *queue) policies.QueueKey { return t.queueKey(c, q) },
		func(a, b *policies.QueueKey) int { return compareQueues(a, b, t.prioritySort(q)) })
}

func (t *Twin) appsInOrder(c *totals, q *queue) []*app {
	apps := filter(t.apps, func(a *app) bool { return a.leaf == q.path })
	key := func(a *app) policies.AppKey { return t.appKey(c, a) }
	if q.conf.AppSort == policies.StateAware {
		apps = t.firstUnrampedOnly(c, apps, key, t.prioritySort(q))
	}
	return sorted(apps, key, func(a, b *policies.AppKey) int {
		return compareApps(a, b, q.conf.AppSort, t.prioritySort(q))
	})
}

// firstUnrampedOnly leaves out all applications that have not ramped up except the first. One
// that has had its first allocation stands in line for as long as it holds any or
// asks for more.
func (t *Twin) firstUnrampedOnly(
	c *totals, apps []*app, key func(*app) policies.AppKey, by policies.PrioritySort,
) []*app {
	unramped := filter(apps, func(a *app) bool {
		h := c.apps[a.id]
		return !t.rampedUp(a) && (len(h.asks) > 0 || a.allocationsMade > 0 && h.running > 0)
	})
	unramped = sorted(unramped, key, func(a, b *policies.AppKey) int { return compareUnramped(a, b, by) })
	return filter(apps, func(a *app) bool { return t.rampedUp(a) || len(unramped) > 0 && a == unramped[0] })
}

// rampedUp reports whether a has enough allocations behind it, or enough time.
func (t *Twin) rampedUp(a *app) bool {
	return a.allocationsMade >= policies.RampAllocations || a.allocationsMade > 0 && !t.now.Before(a.firstAllocated.Add(policies.RampTime))
}

// withinQuota asks every queue's own maximum, and the cluster (sheet 3.7).
func (t *Twin) withinQuota(c *totals, w *allocation) bool {
	for _, q := range t.pathQueues(t.app(w.ask.App).leaf)[1:] {
		if !q.conf.Max.Headroom(c.allocated[q.path]).Allows(w.ask.Amounts) {
			return false
		}
	}
	return c.capacity.Sub(c.allocated[t.root.path]).Covers(w.ask.Amounts)
}

func (t *Twin) nodesInOrder(c *totals) []*node {
	return sorted(t.nodes, func(n *node) policies.NodeKey { return t.nodeKey(c, n) }, compareNodes)
}

// fits reports whether an ask could run on a node. One that requires a node gets no
// other.
func (c *totals) fits(n *node, ask *objects.Ask) bool {
	return n.admits(ask) && c.available(n).Sub(c.nominatedOnNode[n.id]).Covers(ask.Amounts)
}

// admits reports whether an ask may run on n at all. One that requires n may although n drains.
func (n *node) admits(ask *objects.Ask) bool {
	if ask.RequiredNode != "" {
		return ask.RequiredNode == n.id
	}
	return n.schedulable
}

// predicatesPass asks the RM.
func (t *Twin) predicatesPass(n *node, ask *objects.Ask) bool {
	return t.oracle == nil || t.oracle.Fits(ask.Key, n.id)
}

// headroom is the tightest bound from q to the root (sheet 3.7).
func (t *Twin) headroom(c *totals, q *queue) resources.Limit {
	tightest := resources.LimitFromMap(c.capacity.Map()).Headroom(c.allocated[t.root.path])
	for _, above := range t.pathQueues(q.path)[1:] {
		tightest = tightest.Tighten(above.conf.Max.Headroom(c.allocated[above.path]))
	}
	return tightest
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
