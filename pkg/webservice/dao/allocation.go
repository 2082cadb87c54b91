package dao

// Asks and allocations are most of the text of an answer: package webservice writes their JSON without these types. Its
// tests compare it with what encoding/json writes of them, and the description of the interface is made from them.

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
	// why it was not placed, the last reason at the end
	AllocationLog []AskLog `json:"allocationLog,omitempty"`
}

// Allocation is an allocation that is bound.
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
}

// PendingAsks is a page of the pending asks of a partition, the longest waiting first.
type PendingAsks struct {
	Partition string       `json:"partition"`
	Total     int          `json:"total"`          // how many match, on all pages
	Next      string       `json:"next,omitempty"` // the parameter after of the next page; missing: this is the last one
	Asks      []PendingAsk `json:"asks"`
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
