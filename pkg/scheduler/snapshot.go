package scheduler

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Snapshot is the state of a partition at one moment. It is immutable, and so is everything
// that it points to: views of what has not changed are shared with earlier and later
// Snapshots. Any number of goroutines may read it for as long as they like. Lists are in name
// order. What depends on many queues at once, such as the headroom of one, is computed by the
// reader: see Headroom.
type Snapshot struct {
	At              time.Time
	Partition       string
	Draining        bool      // being removed: it takes no new node and no new application
	StateSince      time.Time // when it took its first command, or Draining changed; zero: no command yet
	NodeOrder       policies.NodeOrder
	IgnorePriority  bool // as configured
	Preemption      bool // as configured
	NeedQuota       []limits.Selector
	QuotaPreemption bool // as configured
	NodePressure    bool // as configured
	Capacity        resources.Amounts
	Root            *QueueView
	Nodes           persistent.List[NodeView]
	Budgets         []BudgetView                   // by namespace, then by name
	Pauses          []preemption.Pause             // of leaves that do not take each other's place, the oldest first
	Completed       persistent.List[objects.Ended] // oldest first
	Rejected        persistent.List[objects.Ended] // oldest first, each ID once
	Applications    int                            // that live
	Asks            int                            // pending
	Allocations     int
	Strays          uint64 // as of Preemptions
}

// BudgetView is a disruption budget and what it has counted.
type BudgetView struct {
	Budget   *budgets.Budget
	Selected int // allocations that it is about
	Leaving  int // of these, told to leave
	Allowed  int // how many more may be told; negative: too many were, or too few run
}

// QueueView is a queue in a Snapshot. It is immutable.
type QueueView struct {
	Path            objects.QueuePath
	Leaf, Draining  bool
	Managed         bool // in the configuration; else created by a placement rule
	Pending         resources.Amounts
	Allocated       resources.Amounts
	Max             resources.Limit // root: the capacity of the cluster
	Guaranteed      resources.Guarantee
	Priority        policies.Current  // as its parent sees it
	MaxApplications uint64            // that may run; 0: any number
	Running         int               // applications that do
	Preempting      resources.Amounts // of Allocated: marked for preemption, and not released yet
	LimitRules      []limits.Rule     // of users and groups, as configured
	Limits          persistent.List[objects.Limited]
	AboveMax        *objects.AboveMax // it holds more than a max that is enforced; nil: no
	ClassQuotas     []objects.ClassQuota
	Template        *configs.Template
	Settings        configs.Settings
	Children        persistent.List[QueueView]
	Applications    persistent.List[ApplicationView]
}

// ApplicationView is an application in a Snapshot. It is immutable.
type ApplicationView struct {
	ID           objects.AppID
	User         security.User
	LimitGroup   string // the group whose limits count for it; empty: none
	Tags         map[string]string
	State        objects.State
	StateLog     []objects.StateChange
	Submitted    time.Time
	Priority     policies.Current
	Pending      resources.Amounts
	Allocated    resources.Amounts // without placeholders
	Placeholders resources.Amounts
	Peak         resources.Amounts     // the most that either of the two ever was
	UsageHistory *objects.UsageHistory // of what has ended; nil: nothing that ran for a second
	Work         persistent.List[WorkView]
}

// WorkView is an ask or an allocation in a Snapshot. It is immutable; an allocation is one
// view, on the lists of its application and of its node.
type WorkView struct {
	Ask     *objects.Ask
	Class   string // its priority class; empty: none
	Created time.Time
	Node    objects.NodeID // empty: pending

	Leaving     bool           // was told to leave, by preemption
	ToldAt      time.Time      // when
	Overdue     bool           // so long ago that nobody counts on it any more
	Nominated   objects.NodeID // the node for which it waits until others have left; empty: none
	NominatedAt time.Time      // since when

	BoundAt time.Time
	Delay   time.Duration // from the creation of the ask, or the arrival of its application if that was later, to BoundAt
}

// NodeView is a node in a Snapshot. It is immutable.
type NodeView struct {
	ID          objects.NodeID
	Attributes  map[string]string
	Schedulable bool
	Total       resources.Amounts
	Allocated   resources.Amounts
	Occupied    resources.Amounts
	Available   resources.Amounts // negative after a shrink
	Score       float64           // lower is tried first
	Work        persistent.List[WorkView]
	Foreign     []*objects.Foreign
}

// Snapshot copies the state. It costs as much as the state is large, and is made only
// when somebody asks.
func (c *Core) Snapshot(now time.Time) *Snapshot {
	p := c.part
	p.Settle()
	s := &Snapshot{
		At: now, Partition: p.Name(), Draining: c.drains, StateSince: c.stateSince, NodeOrder: p.Config().Nodes,
		IgnorePriority: p.Config().IgnorePriority, Preemption: p.Config().Preemption, NeedQuota: p.Config().NeedQuota, QuotaPreemption: p.Config().QuotaPreemption,
		NodePressure: p.Config().NodePressure, Pauses: slices.Clone(c.churn.Pauses()),
		Capacity: p.Amounts(p.Capacity()), Root: c.viewQueue(p.Root()),
		Budgets: c.Budgets(), Completed: persistent.ListOf(p.Completed()...), Rejected: persistent.ListOf(p.Rejected()...),
		Strays: c.ledger.strays,
	}
	s.Applications, s.Asks, s.Allocations = p.Counts()
	s.Nodes = viewsOf(p.Nodes(), c.viewNode)
	return s
}

// Budgets shows the disruption budgets. It costs as much as there are of them, not as the state
// is large.
func (c *Core) Budgets() []BudgetView {
	all := c.part.Budgets()
	views := make([]BudgetView, len(all))
	for i, b := range all {
		views[i] = BudgetView{b.Config(), b.Selected(), b.Leaving(), b.Allowed()}
	}
	return views
}

// viewsOf is the views of all, in their order.
func viewsOf[T, V any](all []T, view func(T) *V) persistent.List[V] {
	views := make([]*V, len(all))
	for i, x := range all {
		views[i] = view(x)
	}
	return persistent.ListOf(views...)
}

func (c *Core) viewQueue(q *objects.Queue) *QueueView {
	p := c.part
	v := &QueueView{
		Path: q.Path(), Leaf: q.Leaf(), Draining: q.Draining(), Managed: q.Managed(), Pending: p.Amounts(q.Pending()),
		Allocated: p.Amounts(q.Allocated()), Max: q.Max(), Guaranteed: q.Guaranteed(),
		Priority: q.CurrentPriority(), MaxApplications: q.MaxApplications(), Running: q.Running(), Limits: p.Limited(q), ClassQuotas: p.ClassQuotas(q),
		Template: q.Template(), Settings: q.Settings(), LimitRules: q.LimitRules(), Preempting: p.Amounts(q.Preempting()),
	}
	v.Settings.PrioritySort = q.PrioritySort()
	if q.Parent() == nil {
		v.Max = resources.LimitFromMap(p.Amounts(p.Capacity()).Map())
	}
	if above, ok := p.AboveMax(q); ok {
		v.AboveMax = &above
	}
	v.Children = viewsOf(q.Children(), c.viewQueue)
	v.Applications = viewsOf(q.Applications(), c.viewApplication)
	return v
}

func (c *Core) viewApplication(a *objects.Application) *ApplicationView {
	p := c.part
	return &ApplicationView{
		ID: a.ID(), User: a.User(), LimitGroup: a.LimitGroup(), Tags: a.Tags(), State: a.State(), StateLog: append([]objects.StateChange(nil), a.StateLog()...),
		Submitted: a.Submitted(), Priority: a.AskMaxPriority(), Pending: p.Amounts(a.Pending()),
		Allocated: p.Amounts(a.Allocated()), Placeholders: p.Amounts(a.Placeholders()), Peak: p.Amounts(a.Peak()), UsageHistory: a.UsageHistory(), Work: viewsOf(a.Work(), c.viewWork),
	}
}

func (c *Core) viewNode(n *objects.Node) *NodeView {
	p := c.part
	return &NodeView{
		ID: n.ID(), Attributes: n.Attributes(), Schedulable: n.Schedulable(), Total: p.Amounts(n.Total()),
		Allocated: p.Amounts(n.Allocated()), Occupied: p.Amounts(n.Occupied()), Available: p.Amounts(n.Available()),
		Score: n.Score(), Work: viewsOf(n.Work(), c.viewWork), Foreign: n.Foreign(),
	}
}

func (c *Core) viewWork(x *objects.Allocation) *WorkView {
	v := &WorkView{Ask: x.Ask(), Class: c.part.PriorityClass(x), Created: x.Created(), BoundAt: x.BoundAt(), Leaving: c.part.Leaving(x)}
	if !x.Pending() {
		v.Node = x.Node().ID()
		v.ToldAt, v.Overdue = c.part.ToldAt(x)
		v.Delay = delayOf(x)
	} else if n := c.part.Nomination(x); n != nil {
		v.Nominated, v.NominatedAt = n.ID(), c.part.NominatedAt(x)
	}
	return v
}

// delayOf is how long x, which is bound, waited here. An ask cannot have waited for this scheduler
// before its application came, however old the object is that the RM made it for.
func delayOf(x *objects.Allocation) time.Duration {
	since := x.Created()
	if log := x.Application().StateLog(); len(log) > 0 && log[0].At().After(since) {
		since = log[0].At()
	}
	return max(0, x.BoundAt().Sub(since))
}
