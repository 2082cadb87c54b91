package objects

import (
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// An application is in an index of its leaf, a queue in one of its parent. When a quantity has
// changed, the application and the queues above it are indexed again: keys, priorities and masks
// are updated from the leaf to root, and nothing outside of that path.

// reindex updates the position of a and of every queue above it after a quantity changed. It also
// updates the applications that share an account with a, if that account has space for other shapes
// than before.
func (p *Partition) reindex(a *Application) {
	if a.reindex() {
		p.journal.post(Change{Kind: FirstStartingChanged, App: a})
	}
	o := &p.journal.order
	for len(o.refitAccounts) > 0 {
		x := o.refitAccounts[0]
		o.refitAccounts = o.refitAccounts[1:]
		for _, member := range x.Members() {
			if other := member.Owner().(*Application); other != a && other.pendingCount > 0 {
				other.reindex()
			}
		}
	}
}

// reindex updates the position of a and of every queue above it. It reports whether another
// starting application is now the first of its StateAware leaf.
func (a *Application) reindex() (firstStartingChanged bool) {
	q, was := a.queue, a.key.Priority
	a.rekey()
	firstStartingChanged = a.reindexInLeaf()
	for now := a.key.Priority; ; q = q.parent {
		shown := q.CurrentPriority()
		current := shown
		if was != now { // a level is updated only if the priority of the level below changed
			q.priorities.Remove(was)
			q.priorities.Add(now)
			current = q.CurrentPriority()
		}
		was, now = shown, current
		if q.parent == nil {
			return firstStartingChanged
		}
		q.reindexWithPriority(current)
	}
}

// reindexEntry updates the mask and the position of a in the order of its leaf. The mask has the
// shapes that a may be allocated; an application with nothing pending is not in the order (ORD-24).
func (a *Application) reindexEntry() {
	a.entry.Mask = a.entry.Mask[:0]
	if a.MayBeAllocated() {
		a.entry.Mask.CopyFrom(a.askGroups.order.Union())
		a.RestrictToHeadroom(a.entry.Mask)
	}
	a.queue.apps.Reindex(a, a.pendingCount > 0)
}

// reindexInLeaf updates a in both orders of its leaf. It reports whether the first starting
// application changed; then the masks of the former and of the new one are updated too.
func (a *Application) reindexInLeaf() (firstStartingChanged bool) {
	q := a.queue
	if q.policy.sort != policies.StateAware {
		a.reindexEntry()
		return false
	}
	before := q.FirstStarting()
	q.reindexStarting(a, a.isStarting())
	after := q.FirstStarting()
	a.reindexEntry()
	if before == after {
		return false
	}
	for _, other := range []*Application{before, after} {
		if other != nil && other != a && other.entry.Indexed() {
			other.reindexEntry()
		}
	}
	return true
}

// reindexInParent updates the mask and the position of q in the order of its parent. The mask has
// the shapes that are pending below q and within the headroom of q; a queue with nothing pending is
// not in the order (ORD-13).
func (q *Queue) reindexInParent() { q.reindexWithPriority(q.CurrentPriority()) }

// reindexWithPriority is reindexInParent for a known CurrentPriority: it is computed once for each
// queue above an application.
func (q *Queue) reindexWithPriority(current policies.CurrentPriority) {
	q.key.Priority = current
	q.key.Share = q.Share()
	q.key.Pending = q.Pending().Sum()
	q.entry.Mask.CopyFrom(q.feasibleBelow())
	q.RestrictToHeadroom(q.entry.Mask)
	q.parent.children.Reindex(q, q.HasPending())
}

// feasibleBelow is the shapes of pending asks below q for which the queues below q have headroom.
func (q *Queue) feasibleBelow() feasibility.Mask {
	if q.Leaf() {
		return q.apps.Union()
	}
	return q.children.Union()
}

// refitQueue computes the shapes for which q has headroom, after its allocated resources, its
// running applications or its max changed.
func (o *ordering) refitQueue(q *Queue) { q.quota.Refit(o.shapes, o.names.Len()) }
