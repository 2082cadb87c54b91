package queuesyaml

import (
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
)

// The keys of a document. The reader accepts these keys only, and Schema describes them
// (CFG-2, CFG-21).

// mapping is the list of keys of one kind of mapping.
type mapping []key

// key is one key of a mapping.
type key struct {
	name        string
	value       valueKind
	mappingName string   // mappingValue, mappingList: key of the map mappings
	words       []string // wordValue: the legal values; textValue: examples; objectValue: the keys that are read
	required    bool
	description string // purpose, unit and default, for the schema
}

// valueKind is the kind of a key's value. Unless the key is required, the value may also be
// null, which is the same as a missing key (CFG-11).
type valueKind uint8

const (
	textValue      valueKind = iota // also a number or a boolean, as it is written
	queueNameValue                  // one level of a queue path
	wordValue                       // one of words, in any case
	exactWordValue                  // one of words, case-sensitive
	flagValue
	countValue
	int32Value
	durationValue        // a text such as 5m; words are examples
	objectValue          // a mapping of which only the keys in words are read
	numberOrPercentValue // 3 or 50%
	labelsValue          // a mapping of any keys to texts
	textList
	quantitiesValue // resource to quantity
	quotaValue      // resource to quantity or percent
	weightsValue    // resource to number
	settingsValue   // properties
	mappingValue
	mappingList // a list of mappings, not of nulls
)

// mappings are all kinds of mappings, by key.mappingName.
var mappings = map[string]*mapping{
	"document":      &documentMapping,
	"partition":     &partitionMapping,
	"class":         &classMapping,
	"budget":        &budgetMapping,
	"budgetspec":    &budgetSpecMapping,
	"selector":      &selectorMapping,
	"expression":    &expressionMapping,
	"queue":         &queueMapping,
	"resources":     &resourcesMapping,
	"template":      &templateMapping,
	"limit":         &limitMapping,
	"classquota":    &classQuotaMapping,
	"classselector": &classSelectorMapping,
	"rule":          &ruleMapping,
	"filter":        &filterMapping,
	"preemption":    &preemptionMapping,
	"reservation":   &reservationMapping,
	"fairness":      &fairnessMapping,
	"noderefusal":   &nodeRefusalMapping,
	"nodesort":      &nodeSortMapping,
	"resolver":      &resolverMapping,
}

var documentMapping = mapping{
	{name: "partitions", value: mappingList, mappingName: "partition",
		description: "The partitions: pools of nodes, each with a queue tree of its own."},
	{name: "priorityclasses", value: mappingList, mappingName: "class",
		description: "Names for priorities, for the whole cluster. A Kubernetes PriorityClass is accepted as it is."},
	{name: budgetsKey, value: mappingList, mappingName: "budget",
		description: "How many of the selected allocations may be preempted at the same time, in each partition. A " +
			"Kubernetes PodDisruptionBudget is accepted as it is."},
	{name: "checksum", value: textValue, description: "Ignored; it is computed."},
}

var partitionMapping = mapping{
	{name: "name", value: textValue, description: "Name of the partition. Default: default."},
	{name: "queues", value: mappingList, mappingName: "queue", required: true,
		description: "The top of the queue tree. A single queue called root is the root queue; otherwise a root queue is " +
			"added above all of them."},
	{name: "placementrules", value: mappingList, mappingName: "rule",
		description: "Rules that place an application in a queue; the first one that matches decides. Default: the queue " +
			"that the application names."},
	{name: "limits", value: mappingList, mappingName: "limit", description: "The limits of the root queue."},
	{name: "priority", value: exactWordValue, words: []string{"enabled", "disabled"},
		description: "disabled: priorities affect no order, asks do not preempt, and asks that name a class are rejected. " +
			"Default: enabled."},
	{name: "preemption", value: mappingValue, mappingName: "preemption",
		description: "Whether allocations may be preempted."},
	{name: "reservation", value: mappingValue, mappingName: "reservation",
		description: "Whether and when an ask that fits no node reserves one."},
	{name: "fairness", value: mappingValue, mappingName: "fairness",
		description: "What counts in usage over time, by which queues with fairness.halflife order what is below them."},
	{name: "noderefusal", value: mappingValue, mappingName: "noderefusal",
		description: "How long an ask is kept from a node on which its binding failed."},
	{name: "nodesortpolicy", value: mappingValue, mappingName: "nodesort", description: "Which node is tried first."},
	{name: "usergroupresolver", value: mappingValue, mappingName: "resolver",
		description: "Where the groups of a user come from."},
	{name: "classesneedingquota", value: mappingList, mappingName: "classselector",
		description: "Asks that are rejected unless a class quota of their queue or of one above counts them. " +
			"Default: none."},
}

var classMapping = mapping{
	{name: "name", value: textValue, description: "Name of the class, a DNS subdomain; here or in metadata."},
	{name: "value", value: int32Value, required: true,
		description: "The priority; a larger value is a higher priority. At most 1000000000, except for system classes."},
	{name: "globalDefault", value: flagValue,
		description: "The class of asks that name none; at most one class. Default: false."},
	{name: "preemptionPolicy", value: exactWordValue, words: classPolicies,
		description: "Whether asks of the class may preempt allocations of lower priority. Default: PreemptLowerPriority."},
	{name: "description", value: textValue, description: "When to use the class."},
	{name: "submitacl", value: textValue,
		description: "The users and groups that may name the class: users, one space, groups; commas within a list. " +
			"Default: all users, and none for system classes."},
	{name: "apiVersion", value: exactWordValue, words: []string{classVersion, ""},
		description: "As in Kubernetes; may be left out."},
	{name: "kind", value: exactWordValue, words: []string{classKind, ""},
		description: "As in Kubernetes; may be left out."},
	{name: "metadata", value: objectValue, words: []string{"name"},
		description: "As in Kubernetes. Only the name is read."},
}

var (
	preemptionMapping  = settingsMapping("preemption")
	reservationMapping = settingsMapping("reservation")
	fairnessMapping    = settingsMapping("fairness")
	nodeRefusalMapping = settingsMapping("noderefusal")
)

// settingsMapping returns the keys of a section of a partition.
func settingsMapping(section string) (m mapping) {
	defaults := configs.DefaultPartitionSettings()
	for _, s := range configs.PartitionSettings() {
		if s.Section != section {
			continue
		}
		k := key{name: s.Key, value: durationValue, words: s.Examples, description: s.Sentence}
		switch s.Field(&defaults).(type) {
		case *bool:
			k.value = flagValue
		case *int:
			k.value = countValue
			k.description += fmt.Sprintf(" From %d to %d.", s.Least, s.Most)
		case configs.WordSetting:
			k.value, k.words = wordValue, s.Words
		case *[]policies.Weight:
			k.value = weightsValue
			m = append(m, k)
			continue
		}
		k.description += " Default: " + s.Text(&defaults) + "."
		m = append(m, k)
	}
	return m
}

var nodeSortMapping = mapping{
	{name: "type", value: exactWordValue, words: nodeSortPolicies,
		description: "fair sorts the node with the lowest usage first, binpacking the one with the highest. Default: fair."},
	{name: "resourceweights", value: weightsValue,
		description: "The weight of each resource in the usage of a node; 0 leaves it out. Default: vcore and memory, " +
			"1 each."},
}

var resolverMapping = mapping{
	{name: "type", value: textValue, words: resolvers,
		description: "os, ldap, or empty for one group of the user's name."},
}

var queueMapping = mapping{
	{name: "name", value: queueNameValue, required: true,
		description: "Name of this level of the queue's path, in any case."},
	{name: "parent", value: flagValue,
		description: "The queue is a parent even without configured children. Default: false."},
	{name: "resources", value: mappingValue, mappingName: "resources",
		description: "Max and guaranteed resources of the queue; not on root."},
	{name: "maxapplications", value: countValue,
		description: "How many applications may run in the queue and below. Default: 0, any number."},
	{name: "properties", value: settingsValue,
		description: "Sorting, priority and preemption properties of the queue. Most are inherited."},
	{name: "adminacl", value: textValue,
		description: "The users and groups that may administer the queue, and submit to it: users, one space, groups; " +
			"commas within a list. Default: none."},
	{name: "submitacl", value: textValue,
		description: "The users and groups that may submit to the queue and those below: users, one space, groups; commas " +
			"within a list. Default: none."},
	{name: "childtemplate", value: mappingValue, mappingName: "template",
		description: "Settings of the dynamic leaf queues that placement rules create below."},
	{name: "queues", value: mappingList, mappingName: "queue", description: "The child queues."},
	{name: "limits", value: mappingList, mappingName: "limit",
		description: "Limits of users and groups in this queue and below."},
	{name: "classquotas", value: mappingList, mappingName: "classquota",
		description: "Quotas of the asks and allocations of some priority classes in this queue and below; asks beyond " +
			"them are rejected."},
}

var resourcesMapping = mapping{
	{name: "guaranteed", value: quotaValue,
		description: "Guaranteed resources of the queue. A missing resource has no guarantee. A percent is of the " +
			"guarantee of the nearest queue above that names the resource, else of all nodes."},
	{name: "max", value: quotaValue,
		description: "Max resources of the queue. A missing resource is not limited; zero forbids it. A percent is of " +
			"the max of the nearest queue above that names the resource, else of all nodes."},
}

var templateMapping = mapping{
	{name: "maxapplications", value: countValue,
		description: "How many applications may run in the leaf. Default: 0, any number."},
	{name: "properties", value: settingsValue, description: "All properties of the leaf; it inherits none."},
	{name: "resources", value: mappingValue, mappingName: "resources",
		description: "Max and guaranteed resources of the leaf."},
}

var limitMapping = mapping{
	{name: "limit", value: textValue, description: "A description."},
	{name: "users", value: textList,
		description: "The users that the limit is for, each separately; '*' is every user not named in this queue."},
	{name: "groups", value: textList,
		description: "The groups that the limit is for, each as one pool; '*' is every group not named in this queue."},
	{name: "maxresources", value: quantitiesValue,
		description: "Max resources of the user or group. A missing resource is not limited."},
	{name: "maxapplications", value: countValue,
		description: "How many applications the user or group may run. Default: 0, any number."},
}

var ruleMapping = mapping{
	{name: "name", value: wordValue, words: ruleNames, required: true,
		description: ruleSources()},
	{name: "create", value: flagValue,
		description: "Whether the rule may create a queue that does not exist. Default: false."},
	{name: "value", value: textValue, description: "The queue of a fixed rule, the name of the tag of a tag rule."},
	{name: "filter", value: mappingValue, mappingName: "filter",
		description: "The users and groups that the rule is for. Default: all users."},
	{name: "parent", value: mappingValue, mappingName: "rule",
		description: "The rule that places the parent queue. Default: root."},
}

var filterMapping = mapping{
	{name: "type", value: wordValue, words: filterTypes,
		description: "Whether matching users are allowed or denied. Default: allow."},
	{name: "users", value: textList, description: "Names, or one regular expression."},
	{name: "groups", value: textList, description: "Names, or one regular expression."},
}

var (
	ruleNames   = wordsOf(placement.Kinds())
	filterTypes = []string{"allow", "deny", ""}
	// nodeSortPolicies are the names that policies.ParseNodeSort accepts; the default comes first.
	nodeSortPolicies = []string{policies.NodeSortFair.String(), policies.NodeSortBinPacking.String(), ""}
	resolvers        = []string{"", "os", "ldap"} // YuniKorn also has test, for its own tests
	// classPolicies are the names that priorities.ParsePolicy accepts; the default comes first.
	classPolicies = []string{priorities.PreemptLowerPriority.String(), priorities.Never.String(), ""}
)

const (
	classVersion = "scheduling.k8s.io/v1"
	classKind    = "PriorityClass"
)

// ruleSources describes the kinds of placement rules.
func ruleSources() string {
	text := "What the name of the queue is."
	for _, k := range placement.Kinds() {
		text += fmt.Sprintf(" %s: %s.", k, k.Source())
	}
	return text
}

// wordsOf returns the words of values.
func wordsOf[T fmt.Stringer](values []T) (words []string) {
	for _, v := range values {
		words = append(words, v.String())
	}
	return words
}

func (m *mapping) has(name string) bool {
	return slices.ContainsFunc(*m, func(k key) bool { return k.name == name })
}

// names are the names of the keys, for suggestions.
func (m *mapping) names() []string {
	var out []string
	for _, k := range *m {
		out = append(out, k.name)
	}
	return out
}
