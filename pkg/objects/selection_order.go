package objects

import (
	"iter"
	"maps"
	"slices"
	"sort"

	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/quota"
)

// The selection order as it is, for explanations: what is in an order before something else, and by which keys.

// OrderedChildren are the children with pending asks, in selection order.
func (q *Queue) OrderedChildren() iter.Seq[*Queue] { return q.children.All }

// OrderedApplications are the applications of a leaf with pending asks, in selection order.
func (q *Queue) OrderedApplications() iter.Seq[*Application] { return q.apps.All }

// OrderKey returns what q is compared by with its siblings.
func (q *Queue) OrderKey() policies.QueueKey { return q.key }

// OrderKey returns what a is compared by with the applications of its leaf. Read-only.
func (a *Application) OrderKey() policies.AppKey { return a.key }

// OrderKey returns what x is compared by with the asks of its application.
func (x *Allocation) OrderKey() policies.AskKey { return x.key }

// AppSort is the sort policy of a leaf.
func (q *Queue) AppSort() policies.AppSort { return q.policy.sort }

// StateAware reports whether q is a leaf with the sort policy StateAware.
func (q *Queue) StateAware() bool { return q.Leaf() && q.policy.sort == policies.StateAware }

// PendingAskCount is the number of pending asks of a.
func (a *Application) PendingAskCount() int { return int(a.pendingCount) }

// StartingBefore are the applications of a StateAware leaf that must have started or ended before a may start, in their
// order; none if a may be allocated something now (ORD-32).
func (a *Application) StartingBefore() (before []*Application) {
	if a.StateAwareAllows() {
		return nil
	}
	for other := range a.queue.starting.All {
		if other == a {
			break
		}
		before = append(before, other)
	}
	return before
}

// AsksBefore are the pending asks of the application of x that come before x: how many, and the first of them; nil:
// there is none. Asks that are unschedulable or wait for their gang are not in the order and are not counted. The cost
// grows with the logarithm of the number of asks, and with the number of ask groups.
func (x *Allocation) AsksBefore() (count int, first *Allocation) {
	for g := range x.app.askGroups.order.All {
		asks := g.SchedulableAsks()
		n := sort.Search(len(asks), func(i int) bool { return policies.CompareAsks(&asks[i].key, &x.key) >= 0 })
		if n == 0 {
			break // the groups behind begin with later asks
		}
		if count == 0 {
			first = asks[0]
		}
		count += n
	}
	return count, first
}

// EachApplication yields the applications of a partition that have not ended, in no order.
func EachApplication(p *Partition) iter.Seq[*Application] { return maps.Values(p.apps) }

// EachQueue yields the queues of a partition, in no order.
func EachQueue(p *Partition) iter.Seq[*Queue] { return maps.Values(p.queues) }

// RunningWithin are the IDs of the applications that a constraint on the number of applications counts, in ID order.
func RunningWithin(p *Partition, c quota.Constraint) (ids []AppID) {
	for id, a := range p.apps {
		if c.Counts(&a.quota) {
			ids = append(ids, id)
		}
	}
	sort.Slice(ids, func(i, j int) bool { return ids[i] < ids[j] })
	return ids
}

// PendingGroups are the ask groups of a, in the order of their first pending asks.
func (a *Application) PendingGroups() []*AskGroup {
	groups := slices.DeleteFunc(slices.Clone(a.askGroups.list), (*AskGroup).empty)
	slices.SortFunc(groups, func(g, h *AskGroup) int { return compareAsks(g.FirstPending(), h.FirstPending()) })
	return groups
}

// FirstPending is the first pending ask of g in selection order, schedulable or not. Requires: it has one.
func (g *AskGroup) FirstPending() (first *Allocation) {
	if asks := g.SchedulableAsks(); len(asks) > 0 {
		first = asks[0]
	}
	for _, x := range g.unschedulableAsks() {
		if first == nil || compareAsks(x, first) < 0 {
			first = x
		}
	}
	return first
}
