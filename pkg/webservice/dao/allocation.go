package dao

import (
	"slices"
	"strconv"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/runtimes"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Ask is a pending ask.
type Ask struct {
	AllocationKey       string            `json:"allocationKey"`
	AllocationTags      map[string]string `json:"allocationTags,omitempty"`
	RequestTime         int64             `json:"requestTime,omitempty"`
	Resource            Quantities        `json:"resource,omitempty"`
	Priority            string            `json:"priority,omitempty"`
	RequiredNodeID      string            `json:"requiredNodeId,omitempty"`
	ApplicationID       string            `json:"applicationId,omitempty"`
	Placeholder         bool              `json:"placeholder,omitempty"`
	TaskGroupName       string            `json:"taskGroupName,omitempty"`
	Originator          bool              `json:"originator,omitempty"`
	TriggeredPreemption bool              `json:"triggeredPreemption,omitempty"` // the ask is nominated for a node
	// the resource manager was told why the ask waits
	SchedulingAttempted bool   `json:"schedulingAttempted,omitempty"`
	TriggeredScaleUp    bool   `json:"triggeredScaleUp,omitempty"` // and that more nodes help it
	NominatedNode       string `json:"nominatedNode,omitempty"`    // ours: that node
	// ours: the node that the ask has reserved
	ReservedNode string `json:"reservedNode,omitempty"`
	// ours: the class under which class quotas count it
	PriorityClass string `json:"priorityClass,omitempty"`
	runtimes.Run         // ours
	// why it was not placed, the last reason at the end
	AllocationLog []AskLog `json:"allocationLog,omitempty"`
}

// NewAsk shows a pending ask. log has the refusals of the resource manager.
func NewAsk(w *scheduler.AllocationView, log []AskLog) Ask {
	return Ask{
		AllocationKey: string(w.Ask.Key), AllocationTags: w.Ask.Tags(), RequestTime: Nanos(w.Created),
		Resource: amountsOf(w.Ask.Amounts), Priority: strconv.Itoa(int(w.Ask.Priority)),
		RequiredNodeID: string(w.Ask.RequiredNode()), ApplicationID: string(w.Ask.App), Placeholder: w.Ask.Placeholder,
		TaskGroupName: w.Ask.TaskGroup(), Originator: w.Ask.Originator, TriggeredPreemption: w.Nominated != "",
		SchedulingAttempted: w.Waiting.State != objects.WaitUnreported,
		TriggeredScaleUp:    w.Waiting.State == objects.WaitFailed,
		NominatedNode:       string(w.Nominated), ReservedNode: string(w.Reserved), PriorityClass: w.PriorityClass,
		Run: w.Run, AllocationLog: withQuota(log, w.Waiting),
	}
}

// AskLog is a reason for which an ask was not placed. Tools of YuniKorn match on its text.
type AskLog struct {
	Message        string `json:"message,omitempty"`
	LastOccurrence int64  `json:"lastOccurrence,omitempty"`
	Count          int    `json:"count,omitempty"` // of a quota 1: the ask is not tried again while nothing changes
}

// quotaTexts are the texts of YuniKorn about quotas without headroom for the resources of an ask.
var quotaTexts = map[scheduler.PendingReason]string{
	scheduler.AskExceedsMax: "Not enough queue quota", scheduler.NoQueueHeadroom: "Not enough queue quota",
	scheduler.AskExceedsLimit: "Not enough user quota", scheduler.NoLimitHeadroom: "Not enough user quota",
}

// withQuota returns the reasons for which an ask was not placed, the last one at the end: log, and the quota that keeps
// it from being placed, if one does (OBS-21).
func withQuota(log []AskLog, waiting objects.WaitingReport) []AskLog {
	text, lacking := quotaTexts[scheduler.PendingReason(waiting.Blocked)]
	if !lacking {
		return log
	}
	log = append(log, AskLog{text, Nanos(waiting.At), 1})
	slices.SortStableFunc(log, func(a, b AskLog) int { return int(a.LastOccurrence - b.LastOccurrence) })
	return log
}

// Allocation is an allocation that is bound. It has the time of the ask, the time of the bind, and the scheduling delay
// between them in this process. YuniKorn has the first time twice, and so a delay of zero (docs/YUNIKORN.md).
type Allocation struct {
	AllocationKey   string            `json:"allocationKey"`
	AllocationTags  map[string]string `json:"allocationTags,omitempty"`
	RequestTime     int64             `json:"requestTime,omitempty"`
	AllocationTime  int64             `json:"allocationTime,omitempty"`
	AllocationDelay int64             `json:"allocationDelay,omitempty"`
	Resource        Quantities        `json:"resource,omitempty"`
	Priority        string            `json:"priority,omitempty"`
	NodeID          string            `json:"nodeId,omitempty"`
	ApplicationID   string            `json:"applicationId,omitempty"`
	Placeholder     bool              `json:"placeholder,omitempty"`
	TaskGroupName   string            `json:"taskGroupName,omitempty"`
	Originator      bool              `json:"originator,omitempty"`
	Preempted       bool              `json:"preempted,omitempty"`
	PriorityClass   string            `json:"priorityClass,omitempty"` // ours: the class under which class quotas count it
	runtimes.Run                      // ours
}

// NewAllocation shows an allocation that is bound.
func NewAllocation(w *scheduler.AllocationView) Allocation {
	return Allocation{
		AllocationKey: string(w.Ask.Key), AllocationTags: w.Ask.Tags(), RequestTime: Nanos(w.Created),
		AllocationTime: Nanos(w.BoundAt), AllocationDelay: w.SchedulingDelay.Nanoseconds(),
		Resource: amountsOf(w.Ask.Amounts), Priority: strconv.Itoa(int(w.Ask.Priority)), NodeID: string(w.Node),
		ApplicationID: string(w.Ask.App), Placeholder: w.Ask.Placeholder, TaskGroupName: w.Ask.TaskGroup(),
		Originator: w.Ask.Originator, Preempted: w.Preempting, PriorityClass: w.PriorityClass,
		Run: w.Run,
	}
}

// listOf returns the list of what show makes of the asks, or of the allocations, of all; nil: there is none.
func listOf[T any](all persistent.List[scheduler.AllocationView], pending bool,
	show func(*scheduler.AllocationView) T) List[T] {
	wanted := func(yield func(*scheduler.AllocationView) bool) {
		for w := range all.All() {
			if (w.Node == "") == pending && !yield(w) {
				return
			}
		}
	}
	for range wanted {
		return ListOf(wanted, show)
	}
	return nil
}

// PendingAsks is a page of the pending asks of a partition, the longest waiting first.
type PendingAsks struct {
	Partition string           `json:"partition"`
	Total     int              `json:"total"`          // how many match, on all pages
	Next      string           `json:"next,omitempty"` // the parameter after of the next page; missing: the last one
	Asks      List[PendingAsk] `json:"asks"`
}

// RejectedAsk is an ask, or a reported allocation, that was rejected (APP-48).
type RejectedAsk struct {
	AllocationKey   string `json:"allocationKey"`
	ApplicationID   string `json:"applicationID"`
	RejectedMessage string `json:"rejectedMessage"`
	Time            int64  `json:"time"` // nanoseconds
}

// PendingAsk is an ask with its queue, its user and how long it has waited.
type PendingAsk struct {
	Ask
	QueueName    string `json:"queueName"`
	User         string `json:"user,omitempty"`
	WaitingState string `json:"waitingState"` // what the resource manager was told: FAILED, SKIPPED or UNREPORTED
	WaitSeconds  int64  `json:"waitSeconds"`  // since its request
}
