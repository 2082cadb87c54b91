package objects

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// What decides whether asks of a queue may preempt. Nothing here changes a quantity.

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

// compareApplications is negative if the asks of a come before those of b in selection order. Requires: they are
// different applications.
func CompareApplications(a, b *Application) int {
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
// guarantee or the fair shares of a queue from q up to its preemption fence.
func (q *Queue) asksMayPreempt(conf *configs.Partition) bool {
	if !conf.PreemptionEnabled || conf.PriorityDisabled {
		return false
	}
	if q.conf.PriorityPreemption != policies.PriorityPreemptionDisabled {
		return true
	}
	for ; q != nil; q = q.parent {
		if len(q.quota.Guaranteed()) > 0 || q.conf.FairShare {
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

// TagGroupPriority is the application tag with the priority of victim groups of the application, a
// decimal 32-bit number (PRE-51).
const TagGroupPriority = "canopy.scheduler/group-priority"

// ReadGroupPriorityTag reads the group priority of an application from its tags. A malformed tag is
// ignored and returned as an error. Requires: the application exists.
func (p *Partition) ReadGroupPriorityTag(id AppID) error {
	a := p.apps[id]
	text, ok := a.tags[TagGroupPriority]
	if !ok {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return fmt.Errorf("tag %s: %q is not a whole number that fits 32 bits", TagGroupPriority, text)
	}
	a.groupPriority, a.hasGroupPriority = int32(n), true
	return nil
}

// GroupPriority returns the priority of victim groups of a; ok is false if it has none of its own (PRE-51).
func (a *Application) GroupPriority() (n int32, ok bool) { return a.groupPriority, a.hasGroupPriority }

// VictimUnit returns what is preempted together in a leaf (PRE-50).
func (q *Queue) VictimUnit() policies.VictimUnit { return q.conf.VictimUnit }
