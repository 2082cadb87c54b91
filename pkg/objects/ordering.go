package objects

import (
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// An application stands in an index of its leaf, a queue in one of its parent. After a
// posting the application and the queues above it take their new places: keys,
// priorities and masks are brought up to date from the leaf to the root, and nothing
// outside that path is touched.

// reindex puts a and every queue above it where they belong now, after the books changed,
// and likewise the applications that share an account with it, if that offers other shapes
// than before.
func (p *Partition) reindex(a *Application) {
	if a.reindex() {
		p.preemptionGeneration++
	}
	for len(p.refitAccounts) > 0 {
		x := p.refitAccounts[0]
		p.refitAccounts = p.refitAccounts[1:]
		for _, other := range x.members {
			if other != a && other.pendingCount > 0 {
				other.reindex()
			}
		}
	}
}

// reindex puts a and every queue above it where they belong now. It reports whether another of the
// newcomers of its leaf may start than before.
func (a *Application) reindex() (firstStartingChanged bool) {
	q, was := a.queue, a.key.Priority
	a.rekey()
	firstStartingChanged = a.reindexInLeaf()
	for now := a.key.Priority; ; q = q.parent {
		shown := q.CurrentPriority()
		if was != now { // a change travels up only while it changes anything
			q.tally.Remove(was)
			q.tally.Add(now)
		}
		was, now = shown, q.CurrentPriority()
		if q.parent == nil {
			return firstStartingChanged
		}
		q.reindexInParent()
	}
}

// reindexEntry puts a into the order of its leaf, if it asks for something, with the
// shapes that it may be given.
func (a *Application) reindexEntry() {
	if a.entry.mask = a.entry.mask[:0]; a.StateAwareAllows() {
		a.entry.mask.copyFrom(a.askGroups.order.union())
		a.RestrictToHeadroom(a.entry.mask)
	}
	a.queue.apps.reindex(&a.entry, a.pendingCount > 0)
}

// reindexInLeaf puts a into both orders of its leaf. When that changes which of the
// newcomers is first, which it reports, the one who was and the one who is offer something else now.
func (a *Application) reindexInLeaf() (firstStartingChanged bool) {
	q := a.queue
	if q.policy.sort != policies.StateAware {
		a.reindexEntry()
		return false
	}
	before := q.starting.lowest()
	q.starting.reindex(&a.startingEntry, a.isStarting())
	after := q.starting.lowest()
	a.reindexEntry()
	if before == after {
		return false
	}
	for _, other := range []*Application{before, after} {
		if other != nil && other != a && other.entry.indexed() {
			other.reindexEntry()
		}
	}
	return true
}

// isStarting reports whether a is one of those of which only the first may be given
// something: in a StateAware leaf, not ramped up, and either asking or still holding
// its first allocation.
func (a *Application) isStarting() bool {
	return a.queue.policy.sort == policies.StateAware && !a.rampedUp && (a.pendingCount > 0 || a.allocationsMade > 0 && a.boundCount > 0)
}

// reindexInParent puts q into the order of its parent, if anything below it is pending, with
// the shapes that something below asks for and that q itself has headroom for.
func (q *Queue) reindexInParent() {
	q.key.Priority = q.CurrentPriority()
	q.key.Share = q.Share()
	q.key.Pending = q.pending.Sum()
	q.entry.mask.copyFrom(q.feasibleBelow())
	q.RestrictToHeadroom(q.entry.mask)
	q.parent.children.reindex(&q.entry, q.HasPending())
}

// feasibleBelow is the shapes that something below q asks for and may be given, as far as the
// queues below q are concerned.
func (q *Queue) feasibleBelow() Mask {
	if q.Leaf() {
		return q.apps.union()
	}
	return q.children.union()
}

// refitQueue decides which shapes q has headroom for, after its books or its max changed.
func (p *Partition) refitQueue(q *Queue) {
	if q.policy.unbounded {
		return
	}
	p.slots.addKinds(p.names.Len())
	p.slots.setAll(&q.fit)
	if q.atMaxApplications() {
		q.fit.subtract(p.slots.maxAppsQueueSlots)
	}
	if q.parent == nil {
		for k := range p.names.Len() {
			k := resources.Index(k)
			p.slots.dropExceeding(q.fit, k, resources.SubSaturated(p.capacity.At(k), q.allocated.At(k)))
		}
		return
	}
	for i := range q.max {
		k, left := q.max.Remaining(i, q.allocated)
		p.slots.dropExceeding(q.fit, k, left)
	}
}
