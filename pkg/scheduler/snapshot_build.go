package scheduler

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/fairness"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/runtimes"
)

// Snapshot returns the current state. The cost grows with what has changed since the last Snapshot and was
// not refreshed by RefreshSnapshot; that of the first with the size of the state. From then on changes are
// recorded until ForgetSnapshots.
func (c *Core) Snapshot(now time.Time) *Snapshot {
	for c.RefreshSnapshot(1<<30) > 0 {
	}
	m := c.views
	return c.snapshotOf(now, m.queues[c.part.Root()].view, m.nodeViews.List())
}

// RefreshSnapshot does a part of the work of the next Snapshot: it views up to budget changed objects. left
// is about how many remain; objects that change meanwhile are viewed once more. So a large state is viewed
// in steps between decisions, and Snapshot has little left to do (ADR 32).
func (c *Core) RefreshSnapshot(budget int) (left int) {
	if c.views == nil || !c.part.Watched(c.views.changes) || c.views.part != c.part {
		c.views = newViewCache(c.part, c.fairness)
	}
	c.views.refresh(budget)
	return c.views.remaining()
}

// ForgetSnapshots frees what is kept for the next Snapshot: a Core without readers has no cost of
// snapshots.
func (c *Core) ForgetSnapshots() {
	if c.views != nil {
		c.views.part.Unwatch()
		c.views = nil
	}
}

// FullSnapshot copies the whole state and shares nothing with other Snapshots. Tests compare Snapshot with
// it.
func (c *Core) FullSnapshot(now time.Time) *Snapshot {
	p := c.part
	viewOf := func(x *objects.Allocation) *AllocationView { return viewAllocation(p, x) }
	return c.snapshotOf(now, c.copyQueue(p.Root(), viewOf), viewsOf(p.Nodes(), func(n *objects.Node) *NodeView {
		return viewNode(p, n, viewsOf(n.Allocations(), viewOf))
	}))
}

func (c *Core) copyQueue(q *objects.Queue, viewOf func(x *objects.Allocation) *AllocationView) *QueueView {
	children := viewsOf(q.Children(), func(child *objects.Queue) *QueueView { return c.copyQueue(child, viewOf) })
	apps := viewsOf(q.Applications(), func(a *objects.Application) *ApplicationView {
		return viewApplication(c.part, c.fairness, a, viewsOf(a.Allocations(), viewOf))
	})
	return viewQueue(c.part, c.fairness, q, children, apps, q.Quota().LimitUsages(c.part))
}

// viewsOf is the list of the views of all, in their order.
func viewsOf[T, V any](all []T, view func(T) *V) persistent.List[V] {
	views := make([]*V, len(all))
	for i, x := range all {
		views[i] = view(x)
	}
	return persistent.ListOf(views...)
}

// snapshotOf is a Snapshot with the given views, and the fields of the partition itself.
func (c *Core) snapshotOf(now time.Time, root *QueueView, nodes persistent.List[NodeView]) *Snapshot {
	p, conf := c.part, c.part.Config()
	s := &Snapshot{
		At: now, Partition: p.Name(), Draining: c.draining, StateSince: c.stateSince, NodeOrder: conf.NodeSortPolicy,
		IgnorePriority: conf.PriorityDisabled, Preemption: conf.PreemptionEnabled,
		ClassesNeedingQuota: conf.ClassesNeedingQuota, QuotaPreemption: conf.QuotaPreemptionEnabled,
		NodePressure: conf.NodePressureEnabled, CoolDowns: c.preemption.CoolDowns(),
		Capacity: p.Amounts(p.Capacity()), Root: root, Nodes: nodes,
		Budgets: c.Budgets(), Completed: p.Completed(), Rejected: p.Rejected(),
		Orphaned: objects.OrphanCount(c.part), UnknownConfirmations: c.preemption.UnknownConfirmations(),
		Overruns: c.runTimes.Overruns(), Backfill: c.backfill.Counts(),
	}
	s.Applications, s.Asks, s.Allocations = p.Counts()
	s.Refused, s.NoVictims = c.backedOff()
	return s
}

// Budgets returns the disruption budgets. The cost grows with their number only.
func (c *Core) Budgets() []BudgetView {
	all := c.part.Budgets()
	views := make([]BudgetView, len(all))
	for i, b := range all {
		views[i] = BudgetView{b.Config(), b.Selected(), b.Preempting(), b.DisruptionsAllowed()}
	}
	return views
}

func viewQueue(
	p *objects.Partition, f *fairness.Engine, q *objects.Queue, children persistent.List[QueueView],
	apps persistent.List[ApplicationView], limited persistent.List[quota.LimitUsage],
) *QueueView {
	v := &QueueView{
		Path: q.Path(), Leaf: q.Leaf(), Draining: q.Draining(), Stopped: q.Stopped(), Drained: q.DrainedByOperator(),
		Managed: q.Managed(), Pending: p.Amounts(q.Pending()),
		Allocated: p.Amounts(q.Allocated()), Max: q.Max(), Guaranteed: q.Guaranteed(),
		Reduced:  q.GuaranteeReduced(),
		Priority: q.CurrentPriority(), MaxApplications: q.MaxApplications(), Running: q.Running(), Limits: limited,
		ClassQuotas: q.Quota().ClassQuotas(p),
		Template:    q.Template(), Settings: q.Settings(), QuotaTags: q.QuotaTags(), LimitRules: q.Limits(),
		Preempting: p.Amounts(q.Preempting()), Children: children, Applications: apps,
		UsageOverTime: f.OfQueue(q),
	}
	v.WrittenMax, v.WrittenGuarantee = q.ConfiguredQuotas()
	v.Settings.PrioritySort = q.PrioritySort()
	if q.Parent() == nil {
		v.Max, v.Deficit = resources.LimitFromMap(p.Amounts(p.Capacity()).Map()), p.Amounts(q.Quota().Deficit())
	}
	if above, ok := q.Quota().AboveMax(p); ok {
		v.AboveMax = &above
	}
	return v
}

func viewApplication(p *objects.Partition, f *fairness.Engine, a *objects.Application,
	allocations persistent.List[AllocationView]) *ApplicationView {
	v := &ApplicationView{
		ID: a.ID(), User: a.User(), LimitGroup: a.LimitGroup(), Tags: a.Tags(), State: a.State(), OnHold: a.OnHold(),
		Moved: objects.LastMove(p, a), StateLog: slices.Clone(a.StateLog()),
		Submitted: a.Submitted(), Priority: a.AskMaxPriority(), Raised: a.Aged(), Pending: p.Amounts(a.Pending()),
		Allocated: p.Amounts(a.Allocated()), Placeholders: p.Amounts(a.Placeholders()), Peak: p.Peak(a),
		UsageHistory: a.UsageHistory(), Allocations: allocations,
		Reservations: keysOf(p.Reservations().AsksOf(a)), UsageOverTime: f.OfApplication(a),
	}
	if gang := a.Gang(); gang != nil {
		v.Gang = slices.Clone(gang.Groups())
	}
	return v
}

func viewNode(p *objects.Partition, n *objects.Node, allocations persistent.List[AllocationView]) *NodeView {
	v := &NodeView{
		ID: n.ID(), Attributes: n.Attributes(), Schedulable: n.Schedulable(), Cordoned: n.Cordoned(), Draining: n.Draining(),
		Total:     p.Amounts(n.Total()),
		Allocated: p.Amounts(n.Allocated()), Occupied: p.Amounts(n.Occupied()), Available: p.Amounts(n.Available()),
		Score: n.Score(), Allocations: allocations, Foreign: n.Foreign(), ReservedFor: keysOf(n.ReservedFor()),
	}
	if v.Draining {
		v.LeftToDrain = n.LeftToDrain()
	}
	return v
}

// keysOf are the keys of asks; nil: there are none.
func keysOf(asks []*objects.Allocation) (keys []objects.AllocationKey) {
	for _, x := range asks {
		keys = append(keys, x.Key())
	}
	return keys
}

func viewAllocation(p *objects.Partition, x *objects.Allocation) *AllocationView {
	v := &AllocationView{Ask: x.Ask(), PriorityClass: p.PriorityClass(x), Created: x.Created(), BoundAt: x.BoundAt(),
		Preempting: p.Preempting(x), Run: runtimes.RunOf(p, x)}
	if !x.Pending() {
		v.Node = x.Node().ID()
		v.PreemptedAt, v.Overdue = p.PreemptingSince(x)
		v.SchedulingDelay = schedulingDelay(x)
		return v
	}
	v.Waiting = x.WaitingReport()
	if n := p.Nomination(x); n != nil {
		v.Nominated, v.NominatedAt = n.ID(), p.NominatedAt(x)
	} else if n := p.Reservations().Of(x); n != nil {
		v.Reserved, v.ReservedAt = n.ID(), p.Reservations().Since(x)
	} else if y := p.Gangs().Replaces(x); y != nil {
		v.Replaces = y.Key()
	}
	return v
}

// schedulingDelay returns the time for which x, which is bound, was pending. The time before its application was
// submitted does not count, however old the object is that the RM made the ask for.
func schedulingDelay(x *objects.Allocation) time.Duration {
	since := x.Created()
	if log := x.Application().StateLog(); len(log) > 0 && log[0].At().After(since) {
		since = log[0].At()
	}
	return max(0, x.BoundAt().Sub(since))
}
