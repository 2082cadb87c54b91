package affinity

import (
	"maps"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/constraints"
)

// Ask holds the constraints of an ask on the allocations around it, and the labels by which the constraints of others
// select it. It is immutable. nil: the ask has no such constraints.
type Ask struct {
	content content
	nodes   *constraints.Ask
	key     string
}

// content holds the parsed fields of an Ask.
type content struct {
	Namespace    string            `json:"namespace"`
	Labels       map[string]string `json:"labels,omitempty"`
	Nodes        string            `json:"nodes,omitempty"` // the key of the constraints on nodes, which spread depends on
	Affinity     []Term            `json:"affinity,omitempty"`
	AntiAffinity []Term            `json:"antiAffinity,omitempty"`
	Spread       []Spread          `json:"spread,omitempty"`
	Ports        []Port            `json:"ports,omitempty"`

	PreferredAffinity     []PreferredTerm `json:"preferredAffinity,omitempty"`
	PreferredAntiAffinity []PreferredTerm `json:"preferredAntiAffinity,omitempty"`
	PreferredSpread       []Spread        `json:"preferredSpread,omitempty"`
}

// Namespace returns the namespace of the ask.
func (a *Ask) Namespace() string { return a.content.Namespace }

// AffinityTerms returns the terms of the pod affinity. Read-only.
func (a *Ask) AffinityTerms() []Term {
	if a == nil {
		return nil
	}
	return a.content.Affinity
}

// AntiAffinityTerms returns the terms of the pod anti-affinity. Read-only.
func (a *Ask) AntiAffinityTerms() []Term {
	if a == nil {
		return nil
	}
	return a.content.AntiAffinity
}

// SpreadConstraints returns the topology spread constraints. Read-only.
func (a *Ask) SpreadConstraints() []Spread {
	if a == nil {
		return nil
	}
	return a.content.Spread
}

// PortsConflict reports whether a and b cannot be on one node because of their host ports.
func (a *Ask) PortsConflict(b *Ask) bool {
	if a == nil || b == nil {
		return false
	}
	for i := range a.content.Ports {
		if slices.ContainsFunc(b.content.Ports, func(p Port) bool { return p.conflicts(&a.content.Ports[i]) }) {
			return true
		}
	}
	return false
}

// empty reports whether there is neither a constraint nor a preference.
func (c *content) empty() bool {
	return len(c.Affinity)+len(c.AntiAffinity)+len(c.Spread)+len(c.Ports)+
		len(c.PreferredAffinity)+len(c.PreferredAntiAffinity)+len(c.PreferredSpread) == 0
}

// Key returns a text that is equal for two asks only if the same nodes refuse them, they prefer the same nodes, and
// they count alike for others; empty for nil.
func (a *Ask) Key() string {
	if a == nil {
		return ""
	}
	return a.key
}

// Term selects allocations by namespace and labels, and a topology by a node label. A domain is the nodes with the same
// value of that label.
type Term struct {
	AllNamespaces bool      `json:"allNamespaces,omitempty"`
	Namespaces    []string  `json:"namespaces,omitempty"` // in order; none with AllNamespaces
	Selector      *Selector `json:"selector"`
	TopologyKey   string    `json:"topologyKey"`
}

// SelectsTags reports whether t selects an allocation with these tags.
func (t *Term) SelectsTags(tags map[string]string) bool {
	return t.selects(budgets.NamespaceOf(tags), labelsOf(tags))
}

// selects reports whether t selects an allocation with these labels in a namespace.
func (t *Term) selects(namespace string, labels map[string]string) bool {
	if !t.AllNamespaces {
		if _, ok := slices.BinarySearch(t.Namespaces, namespace); !ok {
			return false
		}
	}
	return t.Selector.Matches(labels)
}

// Spread is a topology spread constraint. If it must hold, the ask may enter a domain only if the allocations there
// that Selector selects, the ask included, then exceed those of the domain with the fewest by at most MaxSkew.
type Spread struct {
	Selector    *Selector `json:"selector"`
	TopologyKey string    `json:"topologyKey"`
	MaxSkew     int32     `json:"maxSkew"`
	// with fewer domains the fewest counts as 0; 0: any number of domains will do
	MinDomains int32 `json:"minDomains,omitempty"`
	// nodes count even if the node selector and affinity of the ask do not match them
	AllNodes      bool `json:"allNodes,omitempty"`
	SkipsTainted  bool `json:"skipsTainted,omitempty"`  // nodes whose taints the ask does not tolerate do not count
	SelectsItself bool `json:"selectsItself,omitempty"` // Selector selects the ask
}

// Port is a port of the node that an ask uses.
type Port struct {
	Port     int32  `json:"port"` // from 1 to 65535
	Protocol string `json:"protocol"`
	HostIP   string `json:"hostIP"` // anyIP: every address
}

// anyIP stands for every address of a node.
const anyIP = "0.0.0.0"

// conflicts reports whether p and q cannot be used on one node.
func (p *Port) conflicts(q *Port) bool {
	return p.Port == q.Port && p.Protocol == q.Protocol && (p.HostIP == q.HostIP || p.HostIP == anyIP || q.HostIP == anyIP)
}

// labelsOf returns the labels in the tags of an ask; nil: there are none.
func labelsOf(tags map[string]string) (labels map[string]string) {
	for tag, value := range tags {
		if key, ok := strings.CutPrefix(tag, budgets.LabelTag); ok {
			if labels == nil {
				labels = map[string]string{}
			}
			labels[key] = value
		}
	}
	return labels
}

// SameLabels reports whether two sets of tags have the same labels.
func SameLabels(a, b map[string]string) bool { return hasLabels(a, b) && hasLabels(b, a) }

// hasLabels reports whether the tags of a have each label of b, with its value.
func hasLabels(a, b map[string]string) bool {
	for tag, value := range b {
		if !strings.HasPrefix(tag, budgets.LabelTag) {
			continue
		}
		if have, ok := a[tag]; !ok || have != value {
			return false
		}
	}
	return true
}

// LabelsText returns the labels that tags have, for messages; "none" if there are none.
func LabelsText(tags map[string]string) string {
	labels := labelsOf(tags)
	if len(labels) == 0 {
		return "none"
	}
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		parts = append(parts, key+"="+labels[key])
	}
	return strings.Join(parts, ",")
}

// identity returns an unambiguous text of a namespace and labels.
func identity(namespace string, labels map[string]string) string {
	var b strings.Builder
	b.WriteString(namespace)
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		b.WriteByte(0)
		b.WriteString(key)
		b.WriteByte(0)
		b.WriteString(labels[key])
	}
	return b.String()
}
