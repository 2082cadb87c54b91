package scheduler

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/backfill"
	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/fairness"
	"github.com/canopy-scheduler/canopy/pkg/gangs"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/runtimes"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Snapshot is the state of a partition at one moment. It and everything that it points to is immutable:
// views of unchanged objects are shared with other Snapshots. Any number of goroutines may read it. Lists
// are in name order. What depends on many queues at once, such as headroom, is computed by the reader: see
// Headroom (OBS-1).
type Snapshot struct {
	At                   time.Time
	Partition            string
	Draining             bool      // being removed: it accepts no new node and no new application
	StateSince           time.Time // when it was first used, or Draining changed; zero: not used yet
	NodeOrder            policies.NodeSortPolicy
	IgnorePriority       bool // priority: disabled
	Preemption           bool // preemption.enabled
	ClassesNeedingQuota  []limits.Selector
	QuotaPreemption      bool // preemption.quotapreemptionenabled
	NodePressure         bool // preemption.nodepressureenabled
	Capacity             resources.Amounts
	Root                 *QueueView
	Nodes                persistent.List[NodeView]
	Budgets              []BudgetView                     // by namespace and name
	CoolDowns            []preemption.CoolDown            // oldest first
	Completed            persistent.List[lifecycle.Ended] // oldest first
	Rejected             persistent.List[lifecycle.Ended] // oldest first, each ID once
	Applications         int                              // not completed or rejected
	Asks                 int                              // pending
	Allocations          int
	Orphaned             int    // allocations on nodes that their applications have not taken
	UnknownConfirmations uint64 // see Preemptions
	Overruns             uint64 // allocations that were released because they ran for too long (RUN-5)
	Backfill             backfill.Counts
	Refused              BackedOff // asks
	NoVictims            BackedOff // ask groups
}

// BudgetView is a disruption budget and its counts.
type BudgetView struct {
	Budget     *budgets.Budget
	Selected   int // allocations that it selects
	Preempting int // of these, preempting
	Allowed    int // how many more may be preempted; negative: too many were, or too few run
}

// QueueView is a queue in a Snapshot. It is immutable.
type QueueView struct {
	Path             objects.QueuePath
	Leaf, Draining   bool
	Stopped          bool // by an operator, it or a queue above
	Drained          bool // likewise: it accepts no new application
	Managed          bool // configured; false: a dynamic queue
	Pending          resources.Amounts
	Allocated        resources.Amounts
	Max              resources.Limit   // root: the capacity of the cluster
	Deficit          resources.Amounts // root only: what the allocations of nodes exceed their capacities by (QUO-4)
	Guaranteed       resources.Guarantee
	WrittenMax       resources.Limit          // Max as configured, with percents (QUO-63)
	WrittenGuarantee resources.Guarantee      // Guaranteed as configured, with percents
	Reduced          bool                     // Guaranteed was scaled down (QUO-66)
	Priority         policies.CurrentPriority // as its parent sees it
	MaxApplications  uint64                   // 0: unbounded
	Running          int                      // applications that count for MaxApplications
	Preempting       resources.Amounts        // of Allocated: preempted, and not released yet
	LimitRules       *limits.Index            // of users and groups, as configured
	Limits           persistent.List[quota.LimitUsage]
	AboveMax         *quota.AboveMax // it uses more than an enforced max; nil: it does not
	ClassQuotas      []quota.ClassQuota
	Template         *configs.ChildTemplate
	Settings         configs.Settings
	QuotaTags        configs.QuotaTags // of applications, that count for Max, Guaranteed and MaxApplications
	UsageOverTime    *fairness.Usage   // nil: its parent does not order by it
	Children         persistent.List[QueueView]
	Applications     persistent.List[ApplicationView]
}

// ApplicationView is an application in a Snapshot. It is immutable.
type ApplicationView struct {
	ID           objects.AppID
	User         security.User
	LimitGroup   string // the group whose limits count for it; empty: none
	Tags         map[string]string
	State        lifecycle.State
	OnHold       bool           // by an operator
	Moved        *objects.Moved // by an operator; nil: it is where it was placed
	StateLog     []lifecycle.Change
	Submitted    time.Time
	Priority     policies.CurrentPriority // of its pending asks
	Raised       int32                    // above that, in selection order, because it has waited
	Pending      resources.Amounts
	Allocated    resources.Amounts // without placeholders
	Placeholders resources.Amounts
	Peak         resources.Amounts // of each resource, the most that either of the two was
	UsageHistory *lifecycle.Usage  // of ended allocations; nil: none ran for a second
	// of it, or of its user; nil: its leaf does not order by it
	UsageOverTime *fairness.Usage
	Reservations  []objects.AllocationKey // its asks that have reserved a node, the oldest reservation first
	Gang          []gangs.TaskGroup       // the counts of its task groups; none: it never had a placeholder
	Allocations   persistent.List[AllocationView]
}

// AllocationView is an ask or an allocation in a Snapshot. It is immutable, and listed by its application
// and its node.
type AllocationView struct {
	Ask           *objects.Ask
	PriorityClass string // empty: none
	Created       time.Time
	Node          objects.NodeID // empty: pending

	Preempting  bool           // preempted, and not released yet
	PreemptedAt time.Time      // zero: it is not preempting
	Overdue     bool           // preempted so long ago that no nomination waits for it
	Nominated   objects.NodeID // the nominated node; empty: none
	NominatedAt time.Time      // zero: it is not nominated

	Reserved   objects.NodeID // the node that the ask has reserved; empty: none
	ReservedAt time.Time      // zero: it has reserved none

	Waiting  objects.WaitingReport // of a pending ask: what was last reported to the RM
	Replaces objects.AllocationKey // of a pending ask: the placeholder that it replaces; empty: none

	Run runtimes.Run // how long it may run, and whether its release is ordered

	BoundAt         time.Time
	SchedulingDelay time.Duration // from the creation of the ask, or of its application if that was later, to BoundAt
}

// NodeView is a node in a Snapshot. It is immutable.
type NodeView struct {
	ID          objects.NodeID
	Attributes  map[string]string
	Schedulable bool
	Cordoned    bool // by an operator, whatever the RM says
	Draining    bool // by an operator: its allocations are preempted
	LeftToDrain int  // allocations that a drain ends, and that have not ended; 0 unless Draining
	Total       resources.Amounts
	Allocated   resources.Amounts
	Occupied    resources.Amounts
	Available   resources.Amounts       // negative after a shrink
	Score       float64                 // the lowest is tried first
	ReservedFor []objects.AllocationKey // the asks that have reserved it, the oldest reservation first
	Allocations persistent.List[AllocationView]
	Foreign     []*objects.Foreign
}
