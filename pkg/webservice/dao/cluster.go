package dao

// Cluster has what a page of YuniKorn shows of the scheduler behind a partition.
type Cluster struct {
	StartTime int64 `json:"startTime,omitempty"` // of the process; nanoseconds
	// of the registered resource manager, with its rmId
	BuildInfo   []map[string]string `json:"rmBuildInformation,omitempty"`
	Partition   string              `json:"partition"`
	ClusterName string              `json:"clusterName"` // always kubernetes, as in YuniKorn
}

// ClusterName is for Cluster.ClusterName.
const ClusterName = "kubernetes"

// NodeUtilizations counts the nodes of a partition by how full they are, for each resource.
type NodeUtilizations struct {
	ClusterID    string            `json:"clusterId"`
	Partition    string            `json:"partition"`
	Utilizations []NodeUtilization `json:"utilizations,omitempty"` // in name order
}

// NodeUtilization is the nodes with a resource, by the share of it that is allocated.
type NodeUtilization struct {
	Type        string              `json:"type"`
	Utilization []UtilizationBucket `json:"utilization"` // ten: 0-10% to 90-100%
}

// UtilizationBucket is the nodes whose share is above its lower and up to its upper bound; zero is in the first.
type UtilizationBucket struct {
	BucketName string   `json:"bucketName"`
	NumOfNodes int      `json:"numOfNodes,omitempty"`
	NodeNames  []string `json:"nodeNames,omitempty"` // in name order
}

// ApplicationSample has the number of applications that ran at a time.
type ApplicationSample struct {
	Timestamp         int64 `json:"timestamp"` // nanoseconds
	TotalApplications int   `json:"totalApplications,string"`
}

// ContainerSample has the number of allocations at a time.
type ContainerSample struct {
	Timestamp       int64 `json:"timestamp"` // nanoseconds
	TotalContainers int   `json:"totalContainers,string"`
}

// Validation is the verdict about a configuration.
type Validation struct {
	Allowed  bool     `json:"allowed"`
	Reason   string   `json:"reason"`             // why it is refused, all errors; empty if it is allowed
	Warnings []string `json:"warnings,omitempty"` // ours
}
