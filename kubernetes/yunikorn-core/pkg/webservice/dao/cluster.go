package dao

import (
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/apache/yunikorn-core/pkg/common/configs"
)

// ClusterDAOInfo is a cluster with the builds of its resource managers.
type ClusterDAOInfo struct {
	ClusterName        string              `json:"clusterName"`
	PartitionName      string              `json:"partition"`
	StartTime          int64               `json:"startTime,omitempty"`
	RMBuildInformation []map[string]string `json:"rmBuildInformation,omitempty"`
}

// PartitionInfo is a partition.
type PartitionInfo struct {
	ClusterID               string            `json:"clusterId"`
	Name                    string            `json:"name"`
	State                   string            `json:"state,omitempty"`
	LastStateTransitionTime int64             `json:"lastStateTransitionTime,omitempty"`
	Capacity                PartitionCapacity `json:"capacity"`
	NodeSortingPolicy       NodeSortingPolicy `json:"nodeSortingPolicy"`
	PreemptionEnabled       bool              `json:"preemptionEnabled"`
	QuotaPreemptionEnabled  bool              `json:"quotaPreemptionEnabled"`
	TotalNodes              int               `json:"totalNodes,omitempty"`
	TotalContainers         int               `json:"totalContainers,omitempty"`
	Applications            map[string]int    `json:"applications,omitempty"` // by state
}

// PartitionCapacity has the capacity of the nodes of a partition, and what is used of it, also in percent.
type PartitionCapacity struct {
	Capacity     map[string]int64 `json:"capacity,omitempty"`
	UsedCapacity map[string]int64 `json:"usedCapacity,omitempty"`
	Utilization  map[string]int64 `json:"utilization,omitempty"`
}

// NodeSortingPolicy is the order in which nodes are tried.
type NodeSortingPolicy struct {
	Type            string             `json:"type,omitempty"`
	ResourceWeights map[string]float64 `json:"resourceWeights,omitempty"`
}

// RuleDAOInfo is a partition with its placement rules.
type RuleDAOInfo struct {
	Partition string     `json:"partition"`
	Rules     []*RuleDAO `json:"rules,omitempty"`
}

// RuleDAO is a placement rule.
type RuleDAO struct {
	Name       string            `json:"name"`
	Parameters map[string]string `json:"parameters,omitempty"`
	Filter     *FilterDAO        `json:"filter,omitempty"`
	ParentRule *RuleDAO          `json:"parentRule,omitempty"`
}

// FilterDAO says for which users a placement rule is: names, or an expression.
type FilterDAO struct {
	Type      string   `json:"type"`
	UserList  []string `json:"userList,omitempty"`
	UserExp   string   `json:"userExp,omitempty"`
	GroupList []string `json:"groupList,omitempty"`
	GroupExp  string   `json:"groupExp,omitempty"`
}

// ConfigDAOInfo is the configuration in force, in JSON or YAML. JSON needs the request header "Accept:
// application/json".
type ConfigDAOInfo struct {
	*configs.SchedulerConfig `yaml:",inline"`
	Extra                    map[string]string `yaml:"extra,omitempty" json:",omitempty"`
	DeadlockDetectionEnabled bool              `yaml:"deadlockdetectionenabled"`
	DeadlockTimeoutSeconds   int               `yaml:"deadlocktimeoutseconds"`
}

// ValidateConfResponse says whether a configuration would be accepted, and if not, why.
type ValidateConfResponse struct {
	Allowed bool   `json:"allowed"`
	Reason  string `json:"reason,omitempty"`
}

// SchedulerHealthDAOInfo is the result of all health checks.
type SchedulerHealthDAOInfo struct {
	Healthy      bool
	HealthChecks []HealthCheckInfo `json:",omitempty"`
}

// HealthCheckInfo is the result of one health check.
type HealthCheckInfo struct {
	Name             string `json:",omitempty"`
	Description      string `json:",omitempty"`
	Succeeded        bool
	DiagnosisMessage string `json:",omitempty"`
}

// ApplicationHistoryDAOInfo has the number of applications at a time.
type ApplicationHistoryDAOInfo struct {
	Timestamp         int64  `json:"timestamp,omitempty"`
	TotalApplications string `json:"totalApplications,omitempty"`
}

// ContainerHistoryDAOInfo has the number of allocations at a time.
type ContainerHistoryDAOInfo struct {
	Timestamp       int64  `json:"timestamp,omitempty"`
	TotalContainers string `json:"totalContainers,omitempty"`
}

// EventRecordDAO is a part of the event history.
type EventRecordDAO struct {
	InstanceUUID string // of the process
	LowestID     uint64 // of the records that are kept, like HighestID
	HighestID    uint64
	EventRecords []*si.EventRecord
}

// YunikornID is the first message of an event stream.
type YunikornID struct {
	InstanceUUID string
}
