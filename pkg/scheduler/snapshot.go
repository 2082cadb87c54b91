package scheduler

import (
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
	At                   time.Time
	Partition            string
	Draining             bool      // being removed: it takes no new node and no new application
	StateSince           time.Time // when it was first used, or Draining changed; zero: not used yet
	NodeOrder            policies.NodeSortPolicy
	IgnorePriority       bool // as configured
	Preemption           bool // as configured
	ClassesNeedingQuota  []limits.Selector
	QuotaPreemption      bool // as configured
	NodePressure         bool // as configured
	Capacity             resources.Amounts
	Root                 *QueueView
	Nodes                persistent.List[NodeView]
	Budgets              []BudgetView                              // by namespace, then by name
	CoolDowns            []preemption.CoolDown                     // of leaves that do not take each other's place, the oldest first
	Completed            persistent.List[objects.EndedApplication] // oldest first
	Rejected             persistent.List[objects.EndedApplication] // oldest first, each ID once
	Applications         int                                       // that live
	Asks                 int                                       // pending
	Allocations          int
	UnknownConfirmations uint64 // as of Preemptions
}

// BudgetView is a disruption budget and what it has counted.
type BudgetView struct {
	Budget     *budgets.Budget
	Selected   int // allocations that it is about
	Preempting int // of these, told to leave
	Allowed    int // how many more may be told; negative: too many were, or too few run
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
	Priority        policies.CurrentPriority // as its parent sees it
	MaxApplications uint64                   // that may run; 0: any number
	Running         int                      // applications that do
	Preempting      resources.Amounts        // of Allocated: marked for preemption, and not released yet
	LimitRules      []limits.Limit           // of users and groups, as configured
	Limits          persistent.List[objects.LimitUsage]
	AboveMax        *objects.AboveMax // it holds more than a max that is enforced; nil: no
	ClassQuotas     []objects.ClassQuota
	Template        *configs.ChildTemplate
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
	Priority     policies.CurrentPriority
	Pending      resources.Amounts
	Allocated    resources.Amounts // without placeholders
	Placeholders resources.Amounts
	Peak         resources.Amounts     // the most that either of the two ever was
	UsageHistory *objects.UsageHistory // of what has ended; nil: nothing that ran for a second
	Allocations  persistent.List[AllocationView]
}

// AllocationView is an ask or an allocation in a Snapshot. It is immutable; an allocation is one
// view, on the lists of its application and of its node.
type AllocationView struct {
	Ask           *objects.Ask
	PriorityClass string // its priority class; empty: none
	Created       time.Time
	Node          objects.NodeID // empty: pending

	Preempting  bool           // was told to leave, by preemption
	PreemptedAt time.Time      // when
	Overdue     bool           // so long ago that nobody counts on it any more
	Nominated   objects.NodeID // the node for which it waits until others have left; empty: none
	NominatedAt time.Time      // since when

	BoundAt         time.Time
	SchedulingDelay time.Duration // from the creation of the ask, or the arrival of its application if that was later, to BoundAt
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
	Allocations persistent.List[AllocationView]
	Foreign     []*objects.Foreign
}
