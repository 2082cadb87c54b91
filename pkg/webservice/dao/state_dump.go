package dao

import "time"

// PartitionRules are the placement rules of a partition in the state dump.
type PartitionRules struct {
	Partition string          `json:"partition"`
	Rules     []PlacementRule `json:"rules"`
}

// EventStream is an open event stream in the state dump, with the keys of YuniKorn.
type EventStream struct {
	Name      string    `json:"Name"` // the address of its client
	CreatedAt time.Time `json:"CreatedAt"`
}

// StateDump is everything that REST shows (RST-6), in the order of YuniKorn.
type StateDump struct {
	Timestamp        int64               `json:"timestamp"` // nanoseconds
	Partitions       []Partition         `json:"partitions"`
	Applications     List[Application]   `json:"applications"` // active, completed and rejected ones
	AppHistory       []ApplicationSample `json:"appHistory,omitzero"`
	Nodes            []PartitionNodes    `json:"nodes"`
	ClusterInfo      []Cluster           `json:"clusterInfo"`
	ContainerHistory []ContainerSample   `json:"containerHistory,omitzero"`
	Queues           []Queue             `json:"queues"` // the tree of each partition
	RMDiagnostics    any                 `json:"rmDiagnostics"`
	LogLevel         string              `json:"logLevel"`
	Config           *Config             `json:"config,omitempty"`
	PlacementRules   []PartitionRules    `json:"placementRules,omitzero"`
	EventStreams     []EventStream       `json:"eventStreams,omitzero"`
}

// PartitionNodes are the nodes of a partition in the state dump.
type PartitionNodes struct {
	PartitionName string     `json:"partitionName"`
	NodesInfo     List[Node] `json:"nodesInfo"`
}
