package twin

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/constraints"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// decide finds the first ask, in the order of queues, applications and asks, that is within its quotas
// and fits on a node; nil: there is none. A member that is placed together with others has its turn if all can be
// placed; its node is empty then.
func (t *Twin) decide() (*allocation, objects.NodeID) {
	c := t.total()
	nodes := t.nodesInOrder(c)
	for _, w := range t.asksInOrder(c, t.root) {
		if t.waitsForMembers(w) {
			if !slices.Contains(t.gangsRefused, w.ask.App) && t.applicationMayStart(c, w) {
				if _, _, ok := t.planTogether(t.app(w.ask.App)); ok {
					return w, ""
				}
				t.gangsRefused = append(t.gangsRefused, w.ask.App)
			}
			continue
		}
		if _, limited := t.limitObstacle(c, w); t.heldBack(w) || limited || !t.withinQuota(c, w) {
			continue
		}
		for _, n := range t.inPreferenceOrder(nodes, w.ask, nil) {
			if c.fits(n, w.ask) && t.predicatesPass(n, w.ask) {
				return w, n.id
			}
		}
	}
	return nil, ""
}

// asksInOrder returns the asks below q that may be placed, in order.
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

// allAppsInOrder returns the applications of a leaf with asks in order, also those that may not start.
func (t *Twin) allAppsInOrder(c *totals, q *queue) []*app {
	apps := filter(t.apps, func(a *app) bool { return a.leaf == q.path && len(c.apps[a.id].asks) > 0 })
	return sorted(apps, func(a *app) policies.AppKey { return t.appKey(c, a) }, func(a, b *policies.AppKey) int {
		return compareApps(a, b, appSort(q), t.prioritySort(q))
	})
}

func (t *Twin) childrenInOrder(c *totals, q *queue) []*queue {
	waiting := filter(q.children, func(q *queue) bool { return !c.pending[q.path].IsZero() })
	key := func(child *queue) policies.QueueKey {
		k := t.queueKey(c, child)
		k.Usage = t.usageKey(q, child.conf.Name)
		return k
	}
	_, overTime := overTime(q)
	by := policies.QueueSort{Priority: t.prioritySort(q), OverTime: overTime}
	return sorted(waiting, key, func(a, b *policies.QueueKey) int { return compareQueues(a, b, by) })
}

func (t *Twin) appsInOrder(c *totals, q *queue) []*app {
	apps := filter(t.apps, func(a *app) bool { return a.leaf == q.path })
	key := func(a *app) policies.AppKey { return t.appKey(c, a) }
	if q.conf.AppSort == policies.StateAware {
		apps = filter(apps, func(a *app) bool { return !t.held[a.id] })
		apps = t.firstUnrampedOnly(c, apps, key, t.prioritySort(q))
	}
	apps = filter(apps, func(a *app) bool { return !t.switchedOff(a) })
	return sorted(apps, key, func(a, b *policies.AppKey) int {
		return compareApps(a, b, appSort(q), t.prioritySort(q))
	})
}

// firstUnrampedOnly keeps, of the applications that have not ramped up, only the first. An application
// is in this order from its first allocation for as long as it has allocations or pending asks.
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

// rampedUp reports whether a has had enough allocations, or enough time.
func (t *Twin) rampedUp(a *app) bool {
	return a.allocationsMade >= policies.RampAllocations || a.allocationsMade > 0 &&
		!t.now.Before(a.firstAllocated.Add(policies.RampTime))
}

// withinQuota checks the max of every queue, and the capacity of the cluster (QUO-1).
func (t *Twin) withinQuota(c *totals, w *allocation) bool {
	for _, q := range t.pathQueues(t.app(w.ask.App).leaf)[1:] {
		if !q.max().Headroom(c.allocated[q.path]).Allows(w.ask.Amounts) {
			return false
		}
	}
	return c.free(c.allocated[t.root.path]).Covers(w.ask.Amounts)
}

func (t *Twin) nodesInOrder(c *totals) []*node {
	return sorted(t.nodes, func(n *node) policies.NodeKey { return t.nodeKey(c, n) }, compareNodes)
}

// fits reports whether an ask fits on a node. An ask with a required node fits on no other.
// other.
func (c *totals) fits(n *node, ask *objects.Ask) bool {
	return n.admits(ask) && c.available(n).Sub(c.nominatedOnNode[n.id]).Covers(ask.Amounts)
}

// admits reports whether an ask may be placed on n. An ask that requires n may also if n is draining.
func (n *node) admits(ask *objects.Ask) bool { return n.admitsBut(ask) && !n.refuses(ask) }

// admitsBut reports whether n admits the ask apart from what n has refused.
func (n *node) admitsBut(ask *objects.Ask) bool {
	if ask.RequiredNode() != "" && ask.RequiredNode() != n.id || ask.RequiredNode() == "" && !n.schedulable {
		return false
	}
	return n.constraintsAdmit(ask)
}

// constraintsAdmit reads the constraints and the attributes anew each time.
func (n *node) constraintsAdmit(ask *objects.Ask) bool {
	info := n.info()
	return constraintsOf(ask).Match(info) == constraints.Matches && ask.Constraints().Selects(info)
}

// constraintsOf returns the constraints of an ask; none of an allocation that was reported with some that cannot be
// read.
func constraintsOf(ask *objects.Ask) *constraints.Ask {
	parsed, _ := constraints.Parse(ask.Tags())
	return parsed
}

// predicatesPass reports whether other allocations leave n to an ask, and the Oracle accepts it.
func (t *Twin) predicatesPass(n *node, ask *objects.Ask) bool {
	return t.predicatesPassWithout(n, ask, nil)
}

// predicatesPassWithout reports predicatesPass when some allocations are gone. The Oracle does not know about these.
func (t *Twin) predicatesPassWithout(n *node, ask *objects.Ask, gone []*allocation) bool {
	return t.affinityAllows(n, ask, gone) && (t.oracle == nil || t.oracle.Fits(ask.Key, n.id))
}

// headroom returns the smallest headroom from q to the root (QUO-1, QUO-4).
func (t *Twin) headroom(c *totals, q *queue) resources.Limit {
	tightest := resources.LimitFromMap(c.capacity.Map()).Headroom(c.allocated[t.root.path].Sub(c.deficit))
	for _, above := range t.pathQueues(q.path)[1:] {
		tightest = tightest.Tighten(above.max().Headroom(c.allocated[above.path]))
	}
	return tightest
}

// sorted returns the list ordered by keys, each computed once.
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
