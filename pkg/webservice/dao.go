package webservice

import (
	"iter"
	"math"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// The JSON bodies of the REST interface. Times are nanoseconds since 1970 unless said otherwise;
// quantities are in the smallest unit: thousandths of vcore, bytes of memory (OBS-17).

type errorBody struct {
	StatusCode  int    `json:"status_code"`
	Message     string `json:"message"`
	Description string `json:"description"`
}

type healthBody struct {
	Healthy bool   `json:"healthy"`
	Reason  string `json:"reason,omitempty"`
}

// healthCheckBody has the keys of YuniKorn, capital letters included (OBS-51).
type healthCheckBody struct {
	Healthy      bool        `json:"Healthy"`
	HealthChecks []checkBody `json:"HealthChecks"`
	Audits       []auditBody `json:"Audits,omitempty"` // ours: the last audit of each partition
}

// auditBody is the result of the last audit of the accounting of a partition. YuniKorn has none.
type auditBody struct {
	Partition   string     `json:"Partition"`
	Finished    *time.Time `json:"Finished,omitempty"` // RFC 3339; missing: no audit has finished yet
	AgeSeconds  *float64   `json:"AgeSeconds,omitempty"`
	TookSeconds float64    `json:"TookSeconds,omitempty"`
	Objects     int        `json:"Objects,omitempty"`
	Error       string     `json:"Error,omitempty"` // missing: the accounting is consistent
}

type checkBody struct {
	Name             string `json:"Name"`
	Succeeded        bool   `json:"Succeeded"`
	Description      string `json:"Description"`
	DiagnosisMessage string `json:"DiagnosisMessage"`
}

type readyBody struct {
	Ready  bool   `json:"ready"`
	Reason string `json:"reason,omitempty"`
}

// quantities are amounts by resource name, in the smallest unit.
type quantities map[string]int64

func quantitiesOf(all iter.Seq2[string, resources.Quantity]) quantities {
	m := quantities{}
	for name, n := range all {
		m[name] = int64(n)
	}
	return m
}

// percentages is the used share of each total in whole percent, at most 2147483647, for the
// resources that have a total and are used (OBS-18).
func percentages(used resources.Amounts, totals iter.Seq2[string, resources.Quantity]) quantities {
	m := quantities{}
	for name, total := range totals {
		n := used.Get(name)
		switch {
		case n == 0:
		case n < 0:
			m[name] = 0
		case total <= 0:
			m[name] = 100
		default:
			m[name] = int64(min(float64(n)*100/float64(total), math.MaxInt32))
		}
	}
	return m
}

type partitionBody struct {
	ClusterID              string         `json:"clusterId"`
	Name                   string         `json:"name"`
	Capacity               capacityBody   `json:"capacity"`
	NodeSortingPolicy      nodeSortBody   `json:"nodeSortingPolicy"`
	PreemptionEnabled      bool           `json:"preemptionEnabled"`
	QuotaPreemptionEnabled bool           `json:"quotaPreemptionEnabled"`
	TotalNodes             int            `json:"totalNodes,omitempty"`
	Applications           map[string]int `json:"applications,omitempty"`
	TotalContainers        int            `json:"totalContainers,omitempty"`
	State                  string         `json:"state,omitempty"`
	StateSince             int64          `json:"lastStateTransitionTime,omitempty"`

	// PendingSystemAsks is ours: the number of pending asks at priority 2000000000 or above while
	// preemption is off. Critical pods rely on preemption.
	PendingSystemAsks int `json:"pendingSystemAsks,omitempty"`
}

type capacityBody struct {
	Capacity     quantities `json:"capacity,omitempty"`
	UsedCapacity quantities `json:"usedCapacity,omitempty"`
	Utilization  quantities `json:"utilization,omitempty"` // percent
}

type nodeSortBody struct {
	Type            string             `json:"type,omitempty"`
	ResourceWeights map[string]float64 `json:"resourceWeights,omitempty"`
}

type queueBody struct {
	QueueName             string                     `json:"queuename"`
	Status                string                     `json:"status,omitempty"`
	Partition             string                     `json:"partition"` // set in the top queue of an answer only
	PendingResource       quantities                 `json:"pendingResource,omitempty"`
	MaxResource           quantities                 `json:"maxResource,omitempty"`
	GuaranteedResource    quantities                 `json:"guaranteedResource,omitempty"`
	AllocatedResource     quantities                 `json:"allocatedResource,omitempty"`
	PreemptingResource    quantities                 `json:"preemptingResource,omitempty"`
	Headroom              quantities                 `json:"headroom,omitempty"`
	IsLeaf                bool                       `json:"isLeaf"`
	IsManaged             bool                       `json:"isManaged"`
	Properties            map[string]string          `json:"properties,omitempty"`
	Parent                string                     `json:"parent,omitempty"`
	Template              *templateBody              `json:"template,omitempty"`
	Children              []queueBody                `json:"children,omitempty"`
	ChildNames            []string                   `json:"childNames,omitempty"`
	AbsUsedCapacity       quantities                 `json:"absUsedCapacity,omitempty"` // percent
	MaxRunningApps        uint64                     `json:"maxRunningApps,omitempty"`
	RunningApps           uint64                     `json:"runningApps,omitempty"`
	CurrentPriority       int32                      `json:"currentPriority"`
	SortingPolicy         string                     `json:"sortingPolicy,omitempty"`
	PrioritySorting       bool                       `json:"prioritySorting"`
	PreemptionEnabled     bool                       `json:"preemptionEnabled"`
	IsPreemptionFence     bool                       `json:"isPreemptionFence"`
	PreemptionDelay       string                     `json:"preemptionDelay,omitempty"`
	QuotaPreemptionDelay  string                     `json:"quotaPreemptionDelay,omitempty"`
	IsPriorityFence       bool                       `json:"isPriorityFence"`
	PriorityOffset        int32                      `json:"priorityOffset,omitempty"`
	RemainingApplications []remainingApplicationBody `json:"remainingApplications,omitempty"`
	QuotaViolation        *quotaViolationBody        `json:"quotaViolation,omitempty"`
	ClassQuotas           []classQuotaBody           `json:"classQuotas,omitempty"` // ours
}

// remainingApplicationBody is ours: an application for which a draining leaf queue is kept.
type remainingApplicationBody struct {
	ApplicationID    string `json:"applicationID"`
	ApplicationState string `json:"applicationState"`
	User             string `json:"user,omitempty"`
}

// quotaViolationBody is ours: the queue is above its enforced max. Allocations that are preempted
// already are not counted.
type quotaViolationBody struct {
	Excess         quantities `json:"excess"`
	Since          int64      `json:"since"`                    // nanoseconds
	EnforcedFrom   int64      `json:"enforcedFrom"`             // from when allocations may be preempted for it
	LastEvaluation int64      `json:"lastEvaluation,omitempty"` // the last evaluation that could not preempt enough
}

type templateBody struct {
	MaxApplications    uint64            `json:"maxApplications,omitempty"`
	MaxResource        quantities        `json:"maxResource,omitempty"`
	GuaranteedResource quantities        `json:"guaranteedResource,omitempty"`
	Properties         map[string]string `json:"properties,omitempty"`
}

type applicationBody struct {
	ApplicationID      string           `json:"applicationID"`
	UsedResource       quantities       `json:"usedResource,omitempty"`
	MaxUsedResource    quantities       `json:"maxUsedResource,omitempty"` // the highest usage at any time
	PendingResource    quantities       `json:"pendingResource,omitempty"`
	Partition          string           `json:"partition"`
	QueueName          string           `json:"queueName"`
	SubmissionTime     int64            `json:"submissionTime,omitempty"`
	FinishedTime       int64            `json:"finishedTime,omitempty"`
	Requests           any              `json:"requests,omitempty"`    // a list: see spliceAllocations
	Allocations        any              `json:"allocations,omitempty"` // the same
	ApplicationState   string           `json:"applicationState,omitempty"`
	User               string           `json:"user,omitempty"`
	Groups             []string         `json:"groups,omitempty"`
	RejectedMessage    string           `json:"rejectedMessage,omitempty"`
	StateLog           []stateBody      `json:"stateLog,omitempty"`
	MaxRequestPriority int32            `json:"maxRequestPriority,omitempty"`
	StartTime          int64            `json:"startTime,omitempty"` // milliseconds
	ResourceHistory    usageHistoryBody `json:"resourceHistory"`
}

// usageHistoryBody is the usage of allocations that have ended, by instance type: quantities times seconds.
type usageHistoryBody struct {
	ResourceUsage       map[string]quantities `json:"resourceUsage,omitempty"`
	PreemptedResource   map[string]quantities `json:"preemptedResource,omitempty"`
	PlaceholderResource map[string]quantities `json:"placeholderResource,omitempty"`
}

type stateBody struct {
	Time             int64  `json:"time"`
	ApplicationState string `json:"applicationState"`
	Reason           string `json:"reason"` // ours: why the state was entered
}

type foreignBody struct {
	AllocationKey  string            `json:"allocationKey"`
	AllocationTags map[string]string `json:"allocationTags,omitempty"`
	Resource       quantities        `json:"resource,omitempty"`
	NodeID         string            `json:"nodeId,omitempty"`
	Preemptable    bool              `json:"preemptable,omitempty"`
}

type nodeBody struct {
	NodeID             string            `json:"nodeID"`
	HostName           string            `json:"hostName,omitempty"`
	RackName           string            `json:"rackName,omitempty"`
	Attributes         map[string]string `json:"attributes,omitempty"`
	Capacity           quantities        `json:"capacity,omitempty"`
	Allocated          quantities        `json:"allocated,omitempty"`
	Occupied           quantities        `json:"occupied,omitempty"`
	Available          quantities        `json:"available,omitempty"`
	Utilized           quantities        `json:"utilized,omitempty"`    // percent
	Allocations        any               `json:"allocations,omitempty"` // a list: see spliceAllocations
	ForeignAllocations []foreignBody     `json:"foreignAllocations,omitempty"`
	Schedulable        bool              `json:"schedulable"`
	IsReserved         bool              `json:"isReserved"`
}

// nanos is a time in nanoseconds since 1970; 0, which is left out, if it is not known.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}
