package dao

// NodesDAOInfo is a partition with its nodes.
type NodesDAOInfo struct {
	PartitionName string         `json:"partitionName"`
	Nodes         []*NodeDAOInfo `json:"nodesInfo,omitempty"`
}

// NodeDAOInfo is a node.
type NodeDAOInfo struct {
	NodeID      string            `json:"nodeID"`
	HostName    string            `json:"hostName,omitempty"`
	RackName    string            `json:"rackName,omitempty"`
	Attributes  map[string]string `json:"attributes,omitempty"`
	Schedulable bool              `json:"schedulable"`

	Capacity  map[string]int64 `json:"capacity,omitempty"`
	Allocated map[string]int64 `json:"allocated,omitempty"` // by applications
	Occupied  map[string]int64 `json:"occupied,omitempty"`  // by foreign allocations
	Available map[string]int64 `json:"available,omitempty"`
	Utilized  map[string]int64 `json:"utilized,omitempty"` // in percent

	Allocations        []*AllocationDAOInfo        `json:"allocations,omitempty"`
	ForeignAllocations []*ForeignAllocationDAOInfo `json:"foreignAllocations,omitempty"`
	IsReserved         bool                        `json:"isReserved"`
	Reservations       []string                    `json:"reservations,omitempty"`
}

// PartitionNodesUtilDAOInfo is a partition with how much of its nodes is used.
type PartitionNodesUtilDAOInfo struct {
	ClusterID     string              `json:"clusterId"`
	Partition     string              `json:"partition"`
	NodesUtilList []*NodesUtilDAOInfo `json:"utilizations,omitempty"`
}

// NodesUtilDAOInfo counts the nodes by how much of one resource is used.
type NodesUtilDAOInfo struct {
	ResourceType string             `json:"type,omitempty"`
	NodesUtil    []*NodeUtilDAOInfo `json:"utilization,omitempty"`
}

// NodeUtilDAOInfo are the nodes in one range of percent.
type NodeUtilDAOInfo struct {
	BucketName string   `json:"bucketName,omitempty"`
	NumOfNodes int64    `json:"numOfNodes,omitempty"`
	NodeNames  []string `json:"nodeNames,omitempty"`
}
