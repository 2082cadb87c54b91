// Package configs has the types of queues.yaml, for programs that read, change and write one: the shim's tests, and
// tools around a scheduler.
//
// The package owns how a text becomes these types and back. It leaves the rules about a configuration to Canopy
// (canopy.CheckConfig), and the configuration in force to the running scheduler, which never reads these types.
// Settings that only Canopy has, such as priorityclasses, are not in the types: they are checked and then dropped.
//
// Invariant: LoadSchedulerConfigFromByteArray returns a configuration exactly if a scheduler would accept the text.
package configs

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/canopy"
	"gopkg.in/yaml.v3"
)

// Names of queues and partitions.
const (
	RootQueue        = "root"
	DefaultPartition = "default"
	DOT              = "." // between the names of a queue's path
)

// Keys of the properties of a queue, and the values of ApplicationSortPriority.
const (
	ApplicationSortPolicy   = "application.sort.policy"
	ApplicationSortPriority = "application.sort.priority"
	PriorityPolicy          = "priority.policy"
	PriorityOffset          = "priority.offset"
	PreemptionPolicy        = "preemption.policy"
	PreemptionDelay         = "preemption.delay"
	QuotaPreemptionDelay    = "preemption.quota.delay"

	ApplicationSortPriorityEnabled  = "enabled"
	ApplicationSortPriorityDisabled = "disabled"
)

// DefaultSchedulerConfig is the configuration without any other: each namespace is a queue, which every user may use.
const DefaultSchedulerConfig = `
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
    placementrules:
      - name: tag
        create: true
        value: namespace
`

// SchedulerConfig is a queues.yaml.
type SchedulerConfig struct {
	Partitions []PartitionConfig `yaml:"partitions"`
	Checksum   string            `yaml:"checksum,omitempty" json:",omitempty"` // of the text: SHA-256 in hexadecimal
}

// PartitionConfig is a partition.
type PartitionConfig struct {
	Name              string                    `yaml:"name"`
	Queues            []QueueConfig             `yaml:"queues"`
	PlacementRules    []PlacementRule           `yaml:"placementrules,omitempty" json:",omitempty"`
	Limits            []Limit                   `yaml:"limits,omitempty" json:",omitempty"` // of the root queue
	Preemption        PartitionPreemptionConfig `yaml:"preemption,omitempty" json:",omitzero"`
	NodeSortPolicy    NodeSortingPolicy         `yaml:"nodesortpolicy,omitempty" json:",omitzero"`
	UserGroupResolver UserGroupResolver         `yaml:"usergroupresolver,omitempty" json:",omitzero"`
}

// PartitionPreemptionConfig switches preemption. nil means the default of the scheduler.
type PartitionPreemptionConfig struct {
	Enabled                *bool `yaml:"enabled,omitempty" json:",omitempty"`
	QuotaPreemptionEnabled *bool `yaml:"quotapreemptionenabled,omitempty" json:",omitempty"`
}

// NodeSortingPolicy is the order in which nodes are tried. A resource without a weight has the weight 1.
type NodeSortingPolicy struct {
	Type            string             `yaml:"type,omitempty"`
	ResourceWeights map[string]float64 `yaml:"resourceweights,omitempty" json:",omitempty"`
}

// UserGroupResolver names the source of users' groups.
type UserGroupResolver struct {
	Type string `yaml:"type,omitempty" json:"type,omitempty"`
}

// QueueConfig is a queue with those below it.
type QueueConfig struct {
	Name string `yaml:"name"`
	// it is no leaf queue, even without children
	Parent          bool              `yaml:"parent,omitempty" json:",omitempty"`
	Resources       Resources         `yaml:"resources,omitempty" json:",omitzero"`
	MaxApplications uint64            `yaml:"maxapplications,omitempty" json:",omitempty"`
	Properties      map[string]string `yaml:"properties,omitempty" json:",omitempty"`
	AdminACL        string            `yaml:"adminacl,omitempty" json:",omitempty"`
	SubmitACL       string            `yaml:"submitacl,omitempty" json:",omitempty"`
	ChildTemplate   ChildTemplate     `yaml:"childtemplate,omitempty" json:",omitzero"`
	Queues          []QueueConfig     `yaml:"queues,omitempty" json:",omitempty"`
	Limits          []Limit           `yaml:"limits,omitempty" json:",omitempty"`
}

// ChildTemplate has the settings of dynamic leaf queues below a queue.
type ChildTemplate struct {
	MaxApplications uint64            `yaml:"maxapplications,omitempty" json:",omitempty"`
	Properties      map[string]string `yaml:"properties,omitempty" json:",omitempty"`
	Resources       Resources         `yaml:"resources,omitempty" json:",omitzero"`
}

// Resources are the guarantee and the max of a queue, as quantities with units.
type Resources struct {
	Guaranteed map[string]string `yaml:"guaranteed,omitempty" json:",omitempty"`
	Max        map[string]string `yaml:"max,omitempty" json:",omitempty"`
}

// Limit bounds what each of its users, and each of its groups, may use in a queue.
type Limit struct {
	Limit           string            `yaml:"limit"` // a description
	Users           []string          `yaml:"users,omitempty" json:",omitempty"`
	Groups          []string          `yaml:"groups,omitempty" json:",omitempty"`
	MaxResources    map[string]string `yaml:"maxresources,omitempty" json:",omitempty"`
	MaxApplications uint64            `yaml:"maxapplications,omitempty" json:",omitempty"`
}

// PlacementRule derives a queue from an application.
type PlacementRule struct {
	Name   string         `yaml:"name"`                               // the kind of rule
	Create bool           `yaml:"create,omitempty" json:",omitempty"` // a queue that does not exist is created
	Filter Filter         `yaml:"filter,omitempty" json:",omitzero"`
	Parent *PlacementRule `yaml:"parent,omitempty" json:",omitempty"` // derives the queue above
	Value  string         `yaml:"value,omitempty" json:",omitempty"`  // of kinds that need one: a queue, or a tag
}

// Filter says for which users a PlacementRule is. A list with one entry may be a regular expression.
type Filter struct {
	Type   string   `yaml:"type"`
	Users  []string `yaml:"users,omitempty" json:",omitempty"`
	Groups []string `yaml:"groups,omitempty" json:",omitempty"`
}

// LoadSchedulerConfigFromByteArray reads a queues.yaml. The error has all its problems, a line each.
func LoadSchedulerConfigFromByteArray(content []byte) (*SchedulerConfig, error) {
	if _, err := canopy.CheckConfig("", string(content), canopy.ConfigLimits{}); err != nil {
		return nil, err
	}
	config := new(SchedulerConfig)
	if err := yaml.Unmarshal(content, config); err != nil {
		return nil, fmt.Errorf("the types of this package do not have the configuration: %w", err)
	}
	if len(config.Partitions) == 0 {
		return nil, errors.New("the text is a ConfigMap: its queues.yaml alone is read")
	}
	SetChecksum(content, config)
	return config, nil
}

// SetChecksum sets the checksum of a configuration to that of its text.
func SetChecksum(content []byte, config *SchedulerConfig) {
	config.Checksum = fmt.Sprintf("%X", sha256.Sum256(content))
}
