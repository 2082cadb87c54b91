package dao

// Partition is a partition with its totals.
type Partition struct {
	ClusterID              string         `json:"clusterId"`
	Name                   string         `json:"name"`
	Capacity               Capacity       `json:"capacity"`
	NodeSortingPolicy      NodeSort       `json:"nodeSortingPolicy"`
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

// Capacity has the capacity of the nodes of a partition, and what is used of it.
type Capacity struct {
	Capacity     Quantities `json:"capacity,omitempty"`
	UsedCapacity Quantities `json:"usedCapacity,omitempty"`
	Utilization  Quantities `json:"utilization,omitempty"` // percent
	// what the allocations of nodes, without foreign ones, exceed their capacities by; missing: nothing
	Deficit Quantities `json:"deficit,omitempty"`
}

// NodeSort is the order of nodes.
type NodeSort struct {
	Type            string             `json:"type,omitempty"`
	ResourceWeights map[string]float64 `json:"resourceWeights,omitempty"`
}
