package dao

// DryRunRequest is the ask of a dry run. Package webservice reads it field by field, so that errors name the field.
type DryRunRequest struct {
	AllocationKey     string   `json:"allocationKey,omitempty"` // a pending ask, instead of the fields of an ask
	ApplicationID     string   `json:"applicationID,omitempty"`
	User              string   `json:"user,omitempty"`
	Groups            []string `json:"groups,omitempty"`
	QueueName         string   `json:"queueName,omitempty"`
	PriorityClassName string   `json:"priorityClassName,omitempty"`
	Priority          int32    `json:"priority,omitempty"`
	Preempts          bool     `json:"preempts,omitempty"`
	RequiredNodeID    string   `json:"requiredNodeId,omitempty"`
	// quantities as in queues.yaml, or numbers in the smallest unit
	Resource          map[string]any    `json:"resource,omitempty"`
	Tags              map[string]string `json:"tags,omitempty"`
	AssumeDelayPassed bool              `json:"assumeDelayPassed,omitempty"`
	ExplainNode       string            `json:"explainNode,omitempty"`
}
