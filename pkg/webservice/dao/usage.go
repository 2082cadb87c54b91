package dao

// UserUsage is the usage of a user, in its queues.
type UserUsage struct {
	UserName string            `json:"userName"`
	Groups   map[string]string `json:"groups,omitempty"` // by application: the group whose limit it counts against
	Queues   *QueueUsage       `json:"queues,omitempty"`
}

// GroupUsage is the usage of a group, in the queues of its applications.
type GroupUsage struct {
	GroupName    string      `json:"groupName"`
	Applications []string    `json:"applications,omitempty"`
	Queues       *QueueUsage `json:"queues,omitempty"`
}

// QueueUsage is the usage of a user or a group in a queue and those below.
type QueueUsage struct {
	QueuePath           string           `json:"queuePath"`
	ResourceUsage       Quantities       `json:"resourceUsage,omitempty"`
	RunningApplications []string         `json:"runningApplications,omitempty"`
	MaxResources        Quantities       `json:"maxResources,omitempty"`
	MaxApplications     uint64           `json:"maxApplications,omitempty"`
	Children            List[QueueUsage] `json:"children,omitzero"`
}
