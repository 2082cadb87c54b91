package queuesyaml

import (
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/configs"
)

// Show returns the top mapping of a valid document with its values as written, without comments (CFG-121). Completed
// are the name of a partition, its single root queue, and the limits of the partition on it; named objects have all
// their fields at the top level. With goNames the keys are those of YuniKorn's JSON: the names of Go fields, such as
// MaxApplications. An error means that the text is no YAML.
func Show(text []byte, goNames bool) (*yaml.Node, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	top := doc.Content[0]
	each := func(key string, complete func(n *yaml.Node)) {
		if _, list := lookupKey(top, key); list != nil {
			for _, n := range list.Content {
				complete(n)
			}
		}
	}
	each("partitions", completePartition)
	each(PriorityClasses.key, flattenObject)
	each(budgetsKey, flattenObject)
	s := shown{goNames}
	s.mapping(top, &documentMapping)
	return top, nil
}

// completePartition adds what reading adds (CFG-29, CFG-32).
func completePartition(p *yaml.Node) {
	setKey(p, "name", scalar(partitionName(peek(p, "name"))))
	_, queues := lookupKey(p, "queues")
	if len(queues.Content) != 1 || queueName(queues.Content[0]) != configs.RootQueue {
		root := nameMapping(configs.RootQueue)
		setKey(root, "queues", queues)
		queues = &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{root}}
		setKey(p, "queues", queues)
	}
	root := queues.Content[0]
	setKey(root, "parent", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"})
	if _, limits := lookupKey(p, "limits"); limits != nil && len(limits.Content) > 0 {
		setKey(root, "limits", limits)
	}
}

// flattenObject moves the fields of a Kubernetes object to its top level.
func flattenObject(n *yaml.Node) {
	for _, below := range []string{"metadata", "spec"} {
		_, fields := lookupKey(n, below)
		for i := 0; fields != nil && i+1 < len(fields.Content); i += 2 {
			if _, own := lookupKey(n, fields.Content[i].Value); isNull(own) {
				setKey(n, fields.Content[i].Value, fields.Content[i+1])
			}
		}
	}
	for _, key := range []string{"metadata", "spec", "status", "apiVersion", "kind"} {
		deleteKey(n, key)
	}
}

// shown rewrites nodes by the tables of keys.
type shown struct{ goNames bool }

// mapping keeps the known keys, in the order of their table. It may see a mapping twice: the limits of a partition.
func (s shown) mapping(n *yaml.Node, known *mapping) {
	was := n.Content
	*n = yaml.Node{Kind: yaml.MappingNode}
	for i := range *known {
		k := &(*known)[i]
		at := 0
		for at < len(was) && !strings.EqualFold(was[at].Value, k.name) {
			at += 2
		}
		if at == len(was) || isNull(was[at+1]) {
			continue
		}
		s.value(was[at+1], k)
		name := k.name
		if s.goNames && known != &selectorMapping && known != &expressionMapping {
			name = goName(name)
		}
		n.Content = append(n.Content, scalar(name), was[at+1])
	}
}

func (s shown) value(n *yaml.Node, k *key) {
	switch k.value {
	case mappingValue:
		s.mapping(n, mappings[k.mappingName])
	case mappingList:
		for _, x := range n.Content {
			s.mapping(x, mappings[k.mappingName])
		}
		n.Style = 0
	case flagValue:
		var on bool
		_ = n.Decode(&on) // it was read as one before
		*n = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(on)}
	case countValue, int32Value, numberOrPercentValue, weightsValue:
		*n = yaml.Node{Kind: n.Kind, Tag: n.Tag, Value: n.Value, Content: n.Content}
	default:
		asText(n)
	}
}

// asText makes texts of a scalar, or of the elements of a list or a mapping.
func asText(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode {
		*n = *scalar(textOf(n))
		return
	}
	*n = yaml.Node{Kind: n.Kind, Content: n.Content}
	for _, x := range n.Content {
		asText(x)
	}
}

// goNames are the names of YuniKorn's Go fields that have a capital inside.
var goNames = strings.Fields("AdminACL ChildTemplate ChurnBreakerEnabled ChurnCoolDown ChurnCycles ChurnWindow " +
	"ClassesNeedingQuota ClassQuotas DisruptionBudgets MaxApplications MaxBackoff MaxResources NodePercent " +
	"NodePressureEnabled NodePressureGrace NodeRefusal NodeSortPolicy NominationTimeout PlacementRules PriorityClasses " +
	"QuotaPreemptionEnabled ResourceWeights SubmitACL UserGroupResolver")

// goName returns the name of the Go field of a key.
func goName(key string) string {
	if i := slices.IndexFunc(goNames, func(name string) bool { return strings.EqualFold(name, key) }); i >= 0 {
		return goNames[i]
	}
	return strings.ToUpper(key[:1]) + key[1:]
}
