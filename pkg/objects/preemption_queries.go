package objects

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Queries of preemption before it marks victims. Nothing here changes state.

// ProtectedByGuarantee reports whether the guarantee of q protects y: without y, victims and the
// expected releases q would be below its guarantee for a resource that y has (PRE-34).
func (q *Queue) ProtectedByGuarantee(y *Allocation, victims []*Allocation) bool {
	if len(q.quota.Guaranteed()) == 0 {
		return false
	}
	for k, n := range y.shape.Vector() {
		k := resources.Index(k)
		if g, ok := q.quota.Guaranteed().At(k); ok && n > 0 && q.allocatedWithout(k, y, victims) < g {
			return true
		}
	}
	return false
}

// ProtectedAfterRelease is ProtectedByGuarantee for an allocation of shape s when freed is what the victims in q hold
// together.
func (q *Queue) ProtectedAfterRelease(s *feasibility.Shape, freed resources.Vector) bool {
	guaranteed := q.quota.Guaranteed()
	for k, n := range s.Vector() {
		k := resources.Index(k)
		if g, ok := guaranteed.At(k); ok && n > 0 &&
			resources.SubSaturated(resources.SubSaturated(q.quota.AfterExpectedRelease(k), n), freed.At(k)) < g {
			return true
		}
	}
	return false
}

// allocatedWithout is the quantity of k that q would use without y, victims and the expected
// releases. It is called for each candidate, so it allocates no vector.
func (q *Queue) allocatedWithout(k resources.Index, y *Allocation, victims []*Allocation) resources.Quantity {
	left := resources.SubSaturated(q.quota.AfterExpectedRelease(k), y.shape.Vector().At(k))
	for _, z := range victims {
		if q.IsSelfOrAncestorOf(z.app.queue) {
			left = resources.SubSaturated(left, z.shape.Vector().At(k))
		}
	}
	return left
}

// ExposedPriority is the priority of x as above, a queue on its path, sees it: after the offsets
// and fences of the queues below above (PRE-29). In its own leaf it is the priority of the ask.
func (x *Allocation) ExposedPriority(above *Queue) int32 {
	return x.app.queue.ExposedPriority(x.ask.Priority, above)
}

// ExposedPriority is a priority of an ask in leaf as above, a queue on the path of leaf, sees it.
func (leaf *Queue) ExposedPriority(priority int32, above *Queue) int32 {
	c := policies.Pending(priority)
	for q := leaf; q != above; q = q.parent {
		c = q.policy.priority.ApplyOffset(c, q.policy.offset)
	}
	return c.Value
}

// CompareAskGroups is negative if a comes before b in selection order, whether or not they can be
// placed (PRE-2).
func CompareAskGroups(a, b *AskGroup) int {
	if a.app == b.app {
		return policies.CompareAsks(&a.PendingAsks()[0].key, &b.PendingAsks()[0].key)
	}
	return compareApplications(a.app, b.app)
}

// compareApplications is negative if the asks of a come before those of b in selection order. Requires: they are
// different applications.
func compareApplications(a, b *Application) int {
	if a.queue == b.queue {
		return a.queue.apps.Order.Compare(a, b)
	}
	left, right := a.queue.pathFromRoot(), b.queue.pathFromRoot()
	for i := range left { // both begin at root
		if left[i] != right[i] {
			return left[i].parent.children.Order.Compare(left[i], right[i])
		}
	}
	panic("objects: a leaf queue is an ancestor of another")
}

// pathFromRoot is the queues from root to q.
func (q *Queue) pathFromRoot() (path []*Queue) {
	for ; q != nil; q = q.parent {
		path = append(path, q)
	}
	slices.Reverse(path)
	return path
}

// MayPreempt reports whether the preemption policy of the asks allows them to preempt (PRE-8), and
// the configuration lets them or they require a node (PRE-98). Asks that wait for placeholders do not preempt (GAN-4).
func (g *AskGroup) MayPreempt() bool {
	return g.id.preempts && !g.Held() && (g.app.queue.policy.mayPreempt || g.id.shape.RequiredNode() != "")
}

// MarkPreemptorListed makes addPreemptor skip g.
func (g *AskGroup) MarkPreemptorListed() { g.preemptorListed = true }

// ClearPreemptorListed lets addPreemptor list g again.
func (g *AskGroup) ClearPreemptorListed() { g.preemptorListed = false }

// updatePolicy updates the part of the policy of q that depends on more than its own settings.
func (q *Queue) updatePolicy(conf *configs.Partition) {
	q.policy.mayPreempt = q.Leaf() && q.asksMayPreempt(conf)
	q.policy.prioritySort = q.conf.PrioritySort
	if conf.PriorityDisabled {
		q.policy.prioritySort = policies.PriorityIgnored
	}
	q.applyOrders()
}

// asksMayPreempt reports whether the configuration lets asks of q preempt: by priority, or by the
// guarantee of a queue from q up to its preemption fence.
func (q *Queue) asksMayPreempt(conf *configs.Partition) bool {
	if !conf.PreemptionEnabled || conf.PriorityDisabled {
		return false
	}
	if q.conf.PriorityPreemption != policies.PriorityPreemptionDisabled {
		return true
	}
	for ; q != nil; q = q.parent {
		if len(q.quota.Guaranteed()) > 0 {
			return true
		}
		if q.conf.PreemptionPolicy == policies.PreemptFence {
			break
		}
	}
	return false
}

// PendingAsks are the asks of g in order, unschedulable ones included.
func (g *AskGroup) PendingAsks() []*Allocation {
	if len(g.unschedulableAsks()) == 0 {
		return g.SchedulableAsks()
	}
	all := slices.Concat(g.SchedulableAsks(), g.unschedulableAsks())
	slices.SortFunc(all, func(a, b *Allocation) int { return policies.CompareAsks(&a.key, &b.key) })
	return all
}

// PreemptsAsGang reports whether the task group of x is evaluated for preemption together, for all
// or for none (PRE-90).
func (x *Allocation) PreemptsAsGang() bool {
	return x.ask.TaskGroup() != "" && x.app.queue.conf.GangPreemption
}

// Gang are the pending asks of the task group of x without a nomination that are not held back,
// x included, in order.
// Requires: x has a task group, is pending and has no nomination.
func (p *Partition) Gang(x *Allocation) (all []*Allocation) {
	for _, y := range x.app.allocations {
		if y.Pending() && y.ask.TaskGroup() == x.ask.TaskGroup() && !y.group.Held() && p.Nomination(y) == nil {
			all = append(all, y)
		}
	}
	slices.SortFunc(all, func(a, b *Allocation) int { return policies.CompareAsks(&a.key, &b.key) })
	return all
}

// Application is the application of the asks.
func (g *AskGroup) Application() *Application { return g.app }

// EachBound yields the allocations of a, in no order.
func (a *Application) EachBound(yield func(*Allocation) bool) {
	for _, x := range a.allocations {
		if !x.Pending() && !yield(x) {
			return
		}
	}
}
