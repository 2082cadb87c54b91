package scheduler

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Snapshot is the state as it is now. It costs as much as has changed since the last one, or
// has not been viewed since by RefreshSnapshot; the first costs as much as the state is large.
// From then on changes are recorded, until ForgetSnapshots.
func (c *Core) Snapshot(now time.Time) *Snapshot {
	for c.RefreshSnapshot(1<<30) > 0 {
	}
	m := c.views
	return c.snapshotOf(now, m.queues[c.part.Root()].view, m.nodeViews.List())
}

// RefreshSnapshot does up to so much of what the next Snapshot would have to do, in objects that
// are viewed again; left is about how much remains. Whatever changes meanwhile has to be viewed
// once more. So a large state is viewed bit by bit between decisions, and when little is left
// Snapshot does the rest (ADR 32).
func (c *Core) RefreshSnapshot(budget int) (left int) {
	if c.views == nil || !c.part.Watched(c.views.changes) || c.views.part != c.part {
		c.views = newViewCache(c.part)
	}
	c.views.refresh(budget)
	return c.views.remaining()
}

// ForgetSnapshots gives back what is kept for the next Snapshot: a Core that is not read pays
// nothing.
func (c *Core) ForgetSnapshots() {
	if c.views != nil {
		c.views.part.Unwatch()
		c.views = nil
	}
}

// FullSnapshot copies the whole state and shares nothing with any other Snapshot. It is what
// Snapshot is tested against.
func (c *Core) FullSnapshot(now time.Time) *Snapshot {
	p := c.part
	viewWork := func(x *objects.Allocation) *AllocationView { return viewAllocation(p, x) }
	return c.snapshotOf(now, copyQueue(p, p.Root(), viewWork), viewsOf(p.Nodes(), func(n *objects.Node) *NodeView {
		return viewNode(p, n, viewsOf(n.Allocations(), viewWork))
	}))
}

func copyQueue(p *objects.Partition, q *objects.Queue, viewWork func(x *objects.Allocation) *AllocationView) *QueueView {
	children := viewsOf(q.Children(), func(child *objects.Queue) *QueueView { return copyQueue(p, child, viewWork) })
	apps := viewsOf(q.Applications(), func(a *objects.Application) *ApplicationView {
		return viewApplication(p, a, viewsOf(a.Allocations(), viewWork))
	})
	return viewQueue(p, q, children, apps, p.LimitUsages(q))
}

// viewsOf is the views of all, in their order.
func viewsOf[T, V any](all []T, view func(T) *V) persistent.List[V] {
	views := make([]*V, len(all))
	for i, x := range all {
		views[i] = view(x)
	}
	return persistent.ListOf(views...)
}

// snapshotOf is a Snapshot of what is viewed already and of the partition itself.
func (c *Core) snapshotOf(now time.Time, root *QueueView, nodes persistent.List[NodeView]) *Snapshot {
	p, conf := c.part, c.part.Config()
	s := &Snapshot{
		At: now, Partition: p.Name(), Draining: c.draining, StateSince: c.stateSince, NodeOrder: conf.NodeSortPolicy,
		IgnorePriority: conf.PriorityDisabled, Preemption: conf.PreemptionEnabled, ClassesNeedingQuota: conf.ClassesNeedingQuota, QuotaPreemption: conf.QuotaPreemptionEnabled,
		NodePressure: conf.NodePressureEnabled, CoolDowns: slices.Clone(c.cycles.CoolDowns()),
		Capacity: p.Amounts(p.Capacity()), Root: root, Nodes: nodes,
		Budgets: c.Budgets(), Completed: p.Completed(), Rejected: p.Rejected(),
		UnknownConfirmations: c.preemptionLog.unknownConfirmations,
	}
	s.Applications, s.Asks, s.Allocations = p.Counts()
	return s
}

// Budgets shows the disruption budgets. It costs as much as there are of them, not as the state
// is large.
func (c *Core) Budgets() []BudgetView {
	all := c.part.Budgets()
	views := make([]BudgetView, len(all))
	for i, b := range all {
		views[i] = BudgetView{b.Config(), b.Selected(), b.Preempting(), b.DisruptionsAllowed()}
	}
	return views
}

func viewQueue(
	p *objects.Partition, q *objects.Queue, children persistent.List[QueueView], apps persistent.List[ApplicationView],
	limited persistent.List[objects.LimitUsage],
) *QueueView {
	v := &QueueView{
		Path: q.Path(), Leaf: q.Leaf(), Draining: q.Draining(), Managed: q.Managed(), Pending: p.Amounts(q.Pending()),
		Allocated: p.Amounts(q.Allocated()), Max: q.Max(), Guaranteed: q.Guaranteed(),
		Priority: q.CurrentPriority(), MaxApplications: q.MaxApplications(), Running: q.Running(), Limits: limited, ClassQuotas: p.ClassQuotas(q),
		Template: q.Template(), Settings: q.Settings(), LimitRules: q.Limits(), Preempting: p.Amounts(q.Preempting()), Children: children, Applications: apps,
	}
	v.Settings.PrioritySort = q.PrioritySort()
	if q.Parent() == nil {
		v.Max = resources.LimitFromMap(p.Amounts(p.Capacity()).Map())
	}
	if above, ok := p.AboveMax(q); ok {
		v.AboveMax = &above
	}
	return v
}

func viewApplication(p *objects.Partition, a *objects.Application, work persistent.List[AllocationView]) *ApplicationView {
	return &ApplicationView{
		ID: a.ID(), User: a.User(), LimitGroup: a.LimitGroup(), Tags: a.Tags(), State: a.State(), StateLog: slices.Clone(a.StateLog()),
		Submitted: a.Submitted(), Priority: a.AskMaxPriority(), Pending: p.Amounts(a.Pending()),
		Allocated: p.Amounts(a.Allocated()), Placeholders: p.Amounts(a.Placeholders()), Peak: p.Peak(a), UsageHistory: a.UsageHistory(), Allocations: work,
	}
}

func viewNode(p *objects.Partition, n *objects.Node, work persistent.List[AllocationView]) *NodeView {
	return &NodeView{
		ID: n.ID(), Attributes: n.Attributes(), Schedulable: n.Schedulable(), Total: p.Amounts(n.Total()),
		Allocated: p.Amounts(n.Allocated()), Occupied: p.Amounts(n.Occupied()), Available: p.Amounts(n.Available()),
		Score: n.Score(), Allocations: work, Foreign: n.Foreign(),
	}
}

func viewAllocation(p *objects.Partition, x *objects.Allocation) *AllocationView {
	v := &AllocationView{Ask: x.Ask(), PriorityClass: p.PriorityClass(x), Created: x.Created(), BoundAt: x.BoundAt(), Preempting: p.Preempting(x)}
	if !x.Pending() {
		v.Node = x.Node().ID()
		v.PreemptedAt, v.Overdue = p.PreemptingSince(x)
		v.SchedulingDelay = schedulingDelay(x)
	} else if n := p.Nomination(x); n != nil {
		v.Nominated, v.NominatedAt = n.ID(), p.NominatedAt(x)
	}
	return v
}

// schedulingDelay is how long x, which is bound, waited here. An ask cannot have waited for this scheduler
// before its application came, however old the object is that the RM made it for.
func schedulingDelay(x *objects.Allocation) time.Duration {
	since := x.Created()
	if log := x.Application().StateLog(); len(log) > 0 && log[0].At().After(since) {
		since = log[0].At()
	}
	return max(0, x.BoundAt().Sub(since))
}
