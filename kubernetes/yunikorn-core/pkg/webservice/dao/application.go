package dao

import "time"

// ApplicationsDAOInfo is a list of applications.
type ApplicationsDAOInfo struct {
	Applications []ApplicationDAOInfo `json:"applications,omitempty"`
}

// ApplicationDAOInfo is an application.
type ApplicationDAOInfo struct {
	ApplicationID   string `json:"applicationID"`
	Partition       string `json:"partition"`
	QueueName       string `json:"queueName"`
	State           string `json:"applicationState,omitempty"`
	RejectedMessage string `json:"rejectedMessage,omitempty"`

	User   string   `json:"user,omitempty"`
	Groups []string `json:"groups,omitempty"`

	SubmissionTime  int64           `json:"submissionTime,omitempty"`
	StartTime       int64           `json:"startTime,omitempty"`
	FinishedTime    *int64          `json:"finishedTime,omitempty"`
	BackoffDeadline *time.Time      `json:"backoffDeadline,omitempty"`
	StateLog        []*StateDAOInfo `json:"stateLog,omitempty"`

	UsedResource    map[string]int64 `json:"usedResource,omitempty"`
	MaxUsedResource map[string]int64 `json:"maxUsedResource,omitempty"`
	PendingResource map[string]int64 `json:"pendingResource,omitempty"`
	ResourceHistory ResourceHistory  `json:"resourceHistory,omitzero"`

	Requests           []*AllocationAskDAOInfo `json:"requests,omitempty"`
	Allocations        []*AllocationDAOInfo    `json:"allocations,omitempty"`
	PlaceholderData    []*PlaceholderDAOInfo   `json:"placeholderData,omitempty"`
	HasReserved        bool                    `json:"hasReserved,omitempty"`
	Reservations       []string                `json:"reservations,omitempty"`
	MaxRequestPriority int32                   `json:"maxRequestPriority,omitempty"`
}

// StateDAOInfo is the time at which an application came into a state.
type StateDAOInfo struct {
	ApplicationState string `json:"applicationState,omitempty"`
	Time             int64  `json:"time,omitempty"`
}

// ResourceHistory has what an application has used, by type of instance and resource, times seconds.
type ResourceHistory struct {
	ResourceUsage       map[string]map[string]int64 `json:"resourceUsage,omitempty"`
	PreemptedResource   map[string]map[string]int64 `json:"preemptedResource,omitempty"`
	PlaceholderResource map[string]map[string]int64 `json:"placeholderResource,omitempty"`
}

// PlaceholderDAOInfo counts the placeholders of a task group.
type PlaceholderDAOInfo struct {
	TaskGroupName string           `json:"taskGroupName,omitempty"`
	MinResource   map[string]int64 `json:"minResource,omitempty"` // of one placeholder
	Count         int64            `json:"count,omitempty"`
	Replaced      int64            `json:"replaced,omitempty"`
	TimedOut      int64            `json:"timedout,omitempty"`
}

// AllocationAskDAOInfo is a pending ask.
type AllocationAskDAOInfo struct {
	AllocationKey    string            `json:"allocationKey"`
	ApplicationID    string            `json:"applicationId,omitempty"`
	AllocationTags   map[string]string `json:"allocationTags,omitempty"`
	RequestTime      int64             `json:"requestTime,omitempty"`
	ResourcePerAlloc map[string]int64  `json:"resource,omitempty"`
	Priority         string            `json:"priority,omitempty"`
	RequiredNodeID   string            `json:"requiredNodeId,omitempty"`
	Placeholder      bool              `json:"placeholder,omitempty"`
	TaskGroupName    string            `json:"taskGroupName,omitempty"`
	Originator       bool              `json:"originator,omitempty"`

	AllocationLog       []*AllocationAskLogDAOInfo `json:"allocationLog,omitempty"`
	SchedulingAttempted bool                       `json:"schedulingAttempted,omitempty"`
	TriggeredPreemption bool                       `json:"triggeredPreemption,omitempty"`
	TriggeredScaleUp    bool                       `json:"triggeredScaleUp,omitempty"`
}

// AllocationAskLogDAOInfo says why an ask was not placed, how often, and when that was last found.
type AllocationAskLogDAOInfo struct {
	Message        string `json:"message,omitempty"`
	LastOccurrence int64  `json:"lastOccurrence,omitempty"`
	Count          int32  `json:"count,omitempty"`
}

// AllocationDAOInfo is an allocation.
type AllocationDAOInfo struct {
	AllocationKey    string            `json:"allocationKey"`
	ApplicationID    string            `json:"applicationId,omitempty"`
	NodeID           string            `json:"nodeId,omitempty"`
	AllocationTags   map[string]string `json:"allocationTags,omitempty"`
	RequestTime      int64             `json:"requestTime,omitempty"`
	AllocationTime   int64             `json:"allocationTime,omitempty"`
	AllocationDelay  int64             `json:"allocationDelay,omitempty"` // between the two
	ResourcePerAlloc map[string]int64  `json:"resource,omitempty"`
	Priority         string            `json:"priority,omitempty"`
	Placeholder      bool              `json:"placeholder,omitempty"`
	PlaceholderUsed  bool              `json:"placeholderUsed,omitempty"` // it has replaced a placeholder
	TaskGroupName    string            `json:"taskGroupName,omitempty"`
	Originator       bool              `json:"originator,omitempty"`
	Preempted        bool              `json:"preempted,omitempty"`
}

// ForeignAllocationDAOInfo is usage of a node that no application has.
type ForeignAllocationDAOInfo struct {
	AllocationKey    string            `json:"allocationKey"`
	NodeID           string            `json:"nodeId,omitempty"`
	AllocationTags   map[string]string `json:"allocationTags,omitempty"`
	AllocationTime   int64             `json:"allocationTime,omitempty"`
	ResourcePerAlloc map[string]int64  `json:"resource,omitempty"`
	Priority         string            `json:"priority,omitempty"`
	Preemptable      bool              `json:"preemptable,omitempty"`
}
