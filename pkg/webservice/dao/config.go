package dao

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/internal/server/reload"
)

// The configuration as YuniKorn shows it: what the text of queues.yaml has, under the names of Go
// fields in JSON and the keys of queues.yaml in YAML, which are those names in lower case (CFG-121).

// Config is the configuration in force.
type Config struct {
	Partitions               []partitionConfig
	PriorityClasses          []classConfig     `json:",omitempty" yaml:",omitempty"`
	DisruptionBudgets        []budgetConfig    `json:",omitempty" yaml:",omitempty"`
	Checksum                 string            `json:",omitempty" yaml:",omitempty"`
	Extra                    map[string]string `json:",omitempty" yaml:",omitempty"`
	DeadlockDetectionEnabled bool
	DeadlockTimeoutSeconds   int
	Generation               uint64 // ours
}

type partitionConfig struct {
	Name              string
	Queues            []queueConfig
	PlacementRules    []ruleConfig      `json:",omitempty" yaml:",omitempty"`
	Limits            []limitConfig     `json:",omitempty" yaml:",omitempty"`
	Priority          string            `json:",omitempty" yaml:",omitempty"`
	Preemption        preemptionConfig  `json:",omitzero" yaml:",omitempty"`
	Reservation       reservationConfig `json:",omitzero" yaml:",omitempty"`
	NodeRefusal       nodeRefusalConfig `json:",omitzero" yaml:",omitempty"`
	NodeSortPolicy    sortConfig        `json:",omitzero" yaml:",omitempty"`
	UserGroupResolver resolverConfig    `json:",omitzero" yaml:",omitempty"`

	ClassesNeedingQuota []selectorConfig `json:",omitempty" yaml:",omitempty"`
}

type queueConfig struct {
	Name            string
	Parent          bool              `json:",omitempty" yaml:",omitempty"`
	Resources       resourcesConfig   `json:",omitzero" yaml:",omitempty"`
	MaxApplications uint64            `json:",omitempty" yaml:",omitempty"`
	Properties      map[string]string `json:",omitempty" yaml:",omitempty"`
	AdminACL        string            `json:",omitempty" yaml:",omitempty"`
	SubmitACL       string            `json:",omitempty" yaml:",omitempty"`
	ChildTemplate   templateConfig    `json:",omitzero" yaml:",omitempty"`
	Queues          []queueConfig     `json:",omitempty" yaml:",omitempty"`
	Limits          []limitConfig     `json:",omitempty" yaml:",omitempty"`

	ClassQuotas []classQuotaConfig `json:",omitempty" yaml:",omitempty"`
}

type classQuotaConfig struct {
	Name   string
	Match  selectorConfig
	Users  []string `json:",omitempty" yaml:",omitempty"`
	Groups []string `json:",omitempty" yaml:",omitempty"`
	Hard   map[string]string
}

type selectorConfig struct {
	Operator string
	Classes  []string `json:",omitempty" yaml:",omitempty"`
}

type resourcesConfig struct {
	Guaranteed map[string]string `json:",omitempty" yaml:",omitempty"`
	Max        map[string]string `json:",omitempty" yaml:",omitempty"`
}

type templateConfig struct {
	MaxApplications uint64            `json:",omitempty" yaml:",omitempty"`
	Properties      map[string]string `json:",omitempty" yaml:",omitempty"`
	Resources       resourcesConfig   `json:",omitzero" yaml:",omitempty"`
}

type limitConfig struct {
	Limit           string            `json:",omitempty" yaml:",omitempty"`
	Users           []string          `json:",omitempty" yaml:",omitempty"`
	Groups          []string          `json:",omitempty" yaml:",omitempty"`
	MaxResources    map[string]string `json:",omitempty" yaml:",omitempty"`
	MaxApplications uint64            `json:",omitempty" yaml:",omitempty"`
}

type ruleConfig struct {
	Name   string
	Create bool         `json:",omitempty" yaml:",omitempty"`
	Filter filterConfig `json:",omitzero" yaml:",omitempty"`
	Parent *ruleConfig  `json:",omitempty" yaml:",omitempty"`
	Value  string       `json:",omitempty" yaml:",omitempty"`
}

type filterConfig struct {
	Type   string
	Users  []string `json:",omitempty" yaml:",omitempty"`
	Groups []string `json:",omitempty" yaml:",omitempty"`
}

type preemptionConfig struct {
	Enabled                *bool  `json:",omitempty" yaml:",omitempty"`
	QuotaPreemptionEnabled *bool  `json:",omitempty" yaml:",omitempty"`
	NominationTimeout      string `json:",omitempty" yaml:",omitempty"`
	NodePressureEnabled    *bool  `json:",omitempty" yaml:",omitempty"`
	NodePressureGrace      string `json:",omitempty" yaml:",omitempty"`
	ChurnBreakerEnabled    *bool  `json:",omitempty" yaml:",omitempty"`
	ChurnCycles            *int   `json:",omitempty" yaml:",omitempty"`
	ChurnWindow            string `json:",omitempty" yaml:",omitempty"`
	ChurnCoolDown          string `json:",omitempty" yaml:",omitempty"`
}

type reservationConfig struct {
	Enabled     *bool  `json:",omitempty" yaml:",omitempty"`
	Delay       string `json:",omitempty" yaml:",omitempty"`
	Timeout     string `json:",omitempty" yaml:",omitempty"`
	NodePercent *int   `json:",omitempty" yaml:",omitempty"`
}

type nodeRefusalConfig struct {
	Backoff    string `json:",omitempty" yaml:",omitempty"`
	MaxBackoff string `json:",omitempty" yaml:",omitempty"`
	Asks       *int   `json:",omitempty" yaml:",omitempty"`
}

type sortConfig struct {
	Type            string
	ResourceWeights map[string]float64 `json:",omitempty" yaml:",omitempty"`
}

type resolverConfig struct {
	Type string `json:",omitempty" yaml:",omitempty"`
}

// classConfig is a priority class with the keys of Kubernetes, the name at the top level.
type classConfig struct {
	Name             string         `yaml:"name"`
	Metadata         ObjectMetadata `json:"-" yaml:"metadata,omitempty"`
	Value            int32          `yaml:"value"`
	GlobalDefault    bool           `json:",omitempty" yaml:"globalDefault,omitempty"`
	PreemptionPolicy string         `json:",omitempty" yaml:"preemptionPolicy,omitempty"`
	Description      string         `json:",omitempty" yaml:"description,omitempty"`
	SubmitACL        *string        `json:",omitempty" yaml:"submitacl,omitempty"`
}

// complete moves the name to the top level; other fields of metadata are not used.
func (c *classConfig) complete() {
	if c.Name == "" {
		c.Name = c.Metadata.Name
	}
	c.Metadata = ObjectMetadata{}
}

// NewConfig parses the text of a generation again, for what it literally has. The text is valid:
// an error means that this parser and the one of pkg/configs disagree.
func NewConfig(g *reload.Generation) (Config, error) {
	var body Config
	if err := yaml.Unmarshal([]byte(g.Text), &body); err != nil {
		return Config{}, err
	}
	for i := range body.Partitions {
		body.Partitions[i].complete()
	}
	for i := range body.PriorityClasses {
		body.PriorityClasses[i].complete()
	}
	for i := range body.DisruptionBudgets {
		body.DisruptionBudgets[i].complete()
	}
	body.Checksum, body.Extra, body.Generation = g.Checksum, g.Extra, g.Number
	body.DeadlockDetectionEnabled, body.DeadlockTimeoutSeconds = false, 0 // there are no locks to watch
	return body, nil
}

// complete adds what pkg/configs adds: the name of the partition and a single root queue, which
// has the limits of the partition (CFG-29, CFG-32).
func (p *partitionConfig) complete() {
	if p.Name == "" || strings.EqualFold(p.Name, "default") {
		p.Name = "default"
	}
	if len(p.Queues) != 1 || !strings.EqualFold(p.Queues[0].Name, "root") {
		p.Queues = []queueConfig{{Name: "root", Queues: p.Queues}}
	}
	root := &p.Queues[0]
	root.Parent = true
	if len(p.Limits) > 0 {
		root.Limits = p.Limits
	}
}
