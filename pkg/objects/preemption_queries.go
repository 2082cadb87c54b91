package objects

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// What preemption asks before it tells anybody to leave. Nothing here changes a book: a
// question is answered by adding up.

// ProtectedByGuarantee reports whether q would be below its guarantee, in something that y holds, if y
// left it, and so would victims and all who were told to leave. y must stay then, as far as
// q is concerned (priority.md P4).
func (q *Queue) ProtectedByGuarantee(y *Allocation, victims []*Allocation) bool {
	if len(q.guaranteed) == 0 {
		return false
	}
	for k, n := range y.shape.vector {
		k := resources.Index(k)
		if g, ok := q.guaranteed.At(k); ok && n > 0 && q.allocatedWithout(k, y, victims) < g {
			return true
		}
	}
	return false
}

// allocatedWithout is what q would hold of a kind of resource without y, the victims and all who were
// told to leave. It is asked for one victim after the other, so it makes no vector.
func (q *Queue) allocatedWithout(k resources.Index, y *Allocation, victims []*Allocation) resources.Quantity {
	left := resources.SubSaturated(resources.SubSaturated(q.allocated.At(k), q.expectedRelease.At(k)), y.shape.vector.At(k))
	for _, z := range victims {
		if q.IsSelfOrAncestorOf(z.app.queue) {
			left = resources.SubSaturated(left, z.shape.vector.At(k))
		}
	}
	return left
}

// WithinGuarantee reports whether q guarantees something of what x asks for (about), and whether x
// would still be within the guarantee (within). What was told to leave does not count,
// what is promised to nominees does.
func (q *Queue) WithinGuarantee(x *Allocation) (guaranteed, within bool) {
	used := slices.Clone(q.allocated)
	used.Sub(q.expectedRelease)
	used.Add(q.nominated)
	used.Add(x.shape.vector)
	within = true
	for k, n := range x.shape.vector {
		if g, ok := q.guaranteed.At(resources.Index(k)); ok && n > 0 {
			guaranteed = true
			within = within && used.At(resources.Index(k)) <= g
		}
	}
	return guaranteed, guaranteed && within
}

// ExposedPriority is the priority of x as it is seen from above, a queue on its path: its own
// number, carried up through the offsets and fences of the queues below above
// (priority.md P3). In its own leaf it is the plain number.
func (x *Allocation) ExposedPriority(above *Queue) int32 {
	return x.app.queue.ExposedPriority(x.ask.Priority, above)
}

// ExposedPriority is how a number of work in a leaf is seen from above, a queue on its path.
func (leaf *Queue) ExposedPriority(priority int32, above *Queue) int32 {
	c := policies.Pending(priority)
	for q := leaf; q != above; q = q.parent {
		c = q.policy.priority.ApplyOffset(c, q.policy.offset)
	}
	return c.Value
}

// CompareAskGroups is negative when it is the turn of a before that of b, whether or not they can
// be placed.
func CompareAskGroups(a, b *AskGroup) int {
	if a.app == b.app {
		return policies.CompareAsks(&a.PendingAsks()[0].key, &b.PendingAsks()[0].key)
	}
	if a.app.queue == b.app.queue {
		return a.app.queue.apps.compare(a.app, b.app)
	}
	left, right := a.app.queue.pathFromRoot(), b.app.queue.pathFromRoot()
	for i := range left { // both begin at root
		if left[i] != right[i] {
			return left[i].parent.children.compare(left[i], right[i])
		}
	}
	panic("objects: a leaf is above another")
}

// pathFromRoot is the queues from root to q.
func (q *Queue) pathFromRoot() (line []*Queue) {
	for ; q != nil; q = q.parent {
		line = append(line, q)
	}
	slices.Reverse(line)
	return line
}

// TakeNewPreemptors returns the classes that have come up since it was last called and that have a
// reason to look whether they could preempt somebody; some may have gone again.
func (p *Partition) TakeNewPreemptors() []*AskGroup {
	out := p.newPreemptors
	p.newPreemptors = nil
	return out
}

// addPreemptor lists c as fresh, if it may have a right and has not been listed before.
func (p *Partition) addPreemptor(group *AskGroup) {
	if group.MayPreempt() && !group.preemptorListed {
		group.preemptorListed = true
		p.newPreemptors = append(p.newPreemptors, group)
	}
}

func (p *Partition) addPreemptors(a *Application) {
	for _, group := range a.askGroups.list {
		p.addPreemptor(group)
	}
}

// TakeFirstAskChanged returns the classes of which another ask than before may be the first that waits
// for no node, since it was last called. The list is good until the partition
// changes.
func (p *Partition) TakeFirstAskChanged() []*AskGroup {
	out := p.firstAskChanged
	p.firstAskChanged = p.firstAskChanged[:0]
	for _, group := range out {
		group.firstAskChangeListed = false
	}
	return out
}

func (p *Partition) noteFirstAskChange(group *AskGroup) {
	if group.preemptorListed && !group.firstAskChangeListed {
		group.firstAskChangeListed = true
		p.firstAskChanged = append(p.firstAskChanged, group)
	}
}

// MayPreempt reports whether c may preempt by the policy of its asks, and the configuration gives
// it any right to.
func (g *AskGroup) MayPreempt() bool {
	return g.id.preempts && (g.app.queue.policy.mayPreempt || g.id.shape.required != "")
}

// MarkPreemptorListed says that c need not be listed as fresh.
func (g *AskGroup) MarkPreemptorListed() { g.preemptorListed = true }

// ClearPreemptorListed forgets that c was ever fresh: it will be again when it has a right.
func (g *AskGroup) ClearPreemptorListed() { g.preemptorListed = false }

// updatePolicy finds out what q goes by that depends on more than its own settings.
func (p *Partition) updatePolicy(q *Queue) {
	q.policy.mayPreempt = q.Leaf() && p.asksMayPreempt(q)
	if q.policy.prioritySort = q.conf.PrioritySort; p.conf.PriorityDisabled {
		q.policy.prioritySort = policies.PriorityIgnored
	}
}

// asksMayPreempt reports whether the configuration gives asks in q any right to preempt: one of the
// queues from q up to the fence has a guarantee, or priority counts.
func (p *Partition) asksMayPreempt(q *Queue) bool {
	if !p.conf.PreemptionEnabled || p.conf.PriorityDisabled {
		return false
	}
	if q.conf.PriorityPreemption != policies.PriorityPreemptionDisabled {
		return true
	}
	for ; q != nil; q = q.parent {
		if len(q.guaranteed) > 0 {
			return true
		}
		if q.conf.PreemptionPolicy == policies.PreemptFence {
			break
		}
	}
	return false
}

// PendingAsks are the asks of c, also those that were set aside, in turn.
func (g *AskGroup) PendingAsks() []*Allocation {
	if len(g.unschedulable) == 0 {
		return g.SchedulableAsks()
	}
	all := slices.Concat(g.SchedulableAsks(), g.unschedulable)
	slices.SortFunc(all, func(a, b *Allocation) int { return policies.CompareAsks(&a.key, &b.key) })
	return all
}

// PreemptsAsGang reports whether the asks of the task group of x look for victims together, or
// not at all (priority.md 2.8).
func (x *Allocation) PreemptsAsGang() bool {
	return x.ask.TaskGroup != "" && x.app.queue.conf.GangPreemption
}

// Gang are the pending asks of the task group of x that wait for no node yet, x among them,
// in turn. Requires: x has a task group, is pending and waits for no node.
func (p *Partition) Gang(x *Allocation) (all []*Allocation) {
	for _, y := range x.app.allocations {
		if y.Pending() && y.ask.TaskGroup == x.ask.TaskGroup && p.Nomination(y) == nil {
			all = append(all, y)
		}
	}
	slices.SortFunc(all, func(a, b *Allocation) int { return policies.CompareAsks(&a.key, &b.key) })
	return all
}

// Application is whose asks they are.
func (g *AskGroup) Application() *Application { return g.app }

// EachBound yields the allocations of a, in no order.
func (a *Application) EachBound(yield func(*Allocation) bool) {
	for _, x := range a.allocations {
		if !x.Pending() && !yield(x) {
			return
		}
	}
}
