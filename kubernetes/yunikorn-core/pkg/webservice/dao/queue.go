package dao

// PartitionQueueDAOInfo is a queue with those below it.
type PartitionQueueDAOInfo struct {
	QueueName  string                  `json:"queuename"`
	Partition  string                  `json:"partition"`
	Parent     string                  `json:"parent,omitempty"`
	Children   []PartitionQueueDAOInfo `json:"children,omitempty"`
	ChildNames []string                `json:"childNames,omitempty"`
	Status     string                  `json:"status,omitempty"`
	IsLeaf     bool                    `json:"isLeaf"`
	IsManaged  bool                    `json:"isManaged"` // it is in the configuration

	GuaranteedResource map[string]int64 `json:"guaranteedResource,omitempty"`
	MaxResource        map[string]int64 `json:"maxResource,omitempty"`
	AllocatedResource  map[string]int64 `json:"allocatedResource,omitempty"`
	PendingResource    map[string]int64 `json:"pendingResource,omitempty"`
	PreemptingResource map[string]int64 `json:"preemptingResource,omitempty"`
	HeadRoom           map[string]int64 `json:"headroom,omitempty"`
	AbsUsedCapacity    map[string]int64 `json:"absUsedCapacity,omitempty"`

	MaxRunningApps         uint64   `json:"maxRunningApps,omitempty"`
	RunningApps            uint64   `json:"runningApps,omitempty"`
	AllocatingAcceptedApps []string `json:"allocatingAcceptedApps,omitempty"`

	Properties           map[string]string `json:"properties,omitempty"`
	TemplateInfo         *TemplateInfo     `json:"template,omitempty"`
	SortingPolicy        string            `json:"sortingPolicy,omitempty"`
	PrioritySorting      bool              `json:"prioritySorting"`
	CurrentPriority      int32             `json:"currentPriority"`
	PriorityOffset       int32             `json:"priorityOffset,omitempty"`
	IsPriorityFence      bool              `json:"isPriorityFence"`
	PreemptionEnabled    bool              `json:"preemptionEnabled"`
	IsPreemptionFence    bool              `json:"isPreemptionFence"`
	PreemptionDelay      string            `json:"preemptionDelay,omitempty"`
	QuotaPreemptionDelay string            `json:"quotaPreemptionDelay,omitempty"`
}

// TemplateInfo are the settings of dynamic leaf queues below a queue.
type TemplateInfo struct {
	MaxApplications    uint64            `json:"maxApplications,omitempty"`
	MaxResource        map[string]int64  `json:"maxResource,omitempty"`
	GuaranteedResource map[string]int64  `json:"guaranteedResource,omitempty"`
	Properties         map[string]string `json:"properties,omitempty"`
}

// UserResourceUsageDAOInfo has the usage of a user, with the groups that count it, by application.
type UserResourceUsageDAOInfo struct {
	UserName string                `json:"userName"`
	Groups   map[string]string     `json:"groups,omitempty"`
	Queues   *ResourceUsageDAOInfo `json:"queues,omitempty"`
}

// GroupResourceUsageDAOInfo has the usage of a group.
type GroupResourceUsageDAOInfo struct {
	GroupName    string                `json:"groupName"`
	Applications []string              `json:"applications,omitempty"`
	Queues       *ResourceUsageDAOInfo `json:"queues,omitempty"`
}

// ResourceUsageDAOInfo has the usage of a user or a group in a queue and those below it, with the limits there.
type ResourceUsageDAOInfo struct {
	QueuePath           string                  `json:"queuePath"`
	ResourceUsage       map[string]int64        `json:"resourceUsage,omitempty"`
	RunningApplications []string                `json:"runningApplications,omitempty"`
	MaxResources        map[string]int64        `json:"maxResources,omitempty"`
	MaxApplications     uint64                  `json:"maxApplications,omitempty"`
	Children            []*ResourceUsageDAOInfo `json:"children,omitempty"`
}
