package configs

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
)

// The keys of a document: what the reader takes and Schema describes. A key that is not
// here does not exist.

// mapping is the keys of one kind of mapping.
type mapping []key

// key is one key of a mapping.
type key struct {
	name        string
	value       valueKind
	mappingName string   // mappingValue, mappingList: which of mappings
	words       []string // wordValue: what the value may be; textValue: what it usually is; objectValue: its texts
	required    bool
	description string // what it is for, its unit and its default
}

// valueKind is what the value of a key is. Unless it is required, it may also be null, which
// is the same as leaving the key out.
type valueKind uint8

const (
	textValue      valueKind = iota // also a number or a boolean, as it is written
	queueNameValue                  // one level of a queue path
	wordValue                       // one of some words, in any case
	exactWordValue                  // one of some words, as they are
	flagValue
	countValue
	int32Value
	durationValue        // a text such as 5m; words are examples
	objectValue          // a mapping of which only some texts are ours: words
	numberOrPercentValue // 3 or 50%
	labelsValue          // any names to texts
	textList
	quantitiesValue // resource to quantity
	weightsValue    // resource to number
	settingsValue   // properties
	mappingValue
	mappingList // null elements are no mappings
)

// mappings are all kinds of mappings, by the name that keys use.
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
	"nodesort":      &nodeSortMapping,
	"resolver":      &resolverMapping,
}

var documentMapping = mapping{
	{name: "partitions", value: mappingList, mappingName: "partition", description: "The partitions: pools of nodes, each with a queue tree of its own."},
	{name: "priorityclasses", value: mappingList, mappingName: "class",
		description: "Names for priorities, for the whole cluster. A PriorityClass of Kubernetes is taken as it is."},
	{name: budgetsKey, value: mappingList, mappingName: "budget",
		description: "How much of some work may be taken away at the same time, in each partition. A PodDisruptionBudget of Kubernetes is taken as it is."},
	{name: "checksum", value: textValue, description: "Ignored; it is computed."},
}

var partitionMapping = mapping{
	{name: "name", value: textValue, description: "Name of the partition. Default: default."},
	{name: "queues", value: mappingList, mappingName: "queue", required: true,
		description: "The top of the queue tree. A single queue called root is the root; otherwise all of these go below one."},
	{name: "placementrules", value: mappingList, mappingName: "rule",
		description: "Which queue an application gets; the first rule that names one decides. Default: the queue it names itself."},
	{name: "limits", value: mappingList, mappingName: "limit", description: "The limits of the root queue."},
	{name: "priority", value: exactWordValue, words: []string{"enabled", "disabled"},
		description: "disabled: no order heeds priorities, no ask preempts, and asks that name a class are refused. Default: enabled."},
	{name: "preemption", value: mappingValue, mappingName: "preemption", description: "Whether work may be evicted for other work."},
	{name: "nodesortpolicy", value: mappingValue, mappingName: "nodesort", description: "Which node is tried first."},
	{name: "usergroupresolver", value: mappingValue, mappingName: "resolver", description: "Where the groups of a user come from."},
	{name: "classesneedingquota", value: mappingList, mappingName: "classselector",
		description: "Asks that are refused unless a class quota of their queue or one above counts them. Default: none."},
}

var classMapping = mapping{
	{name: "name", value: textValue, description: "Name of the class, a DNS subdomain; here or in metadata."},
	{name: "value", value: int32Value, required: true,
		description: "The priority: the larger, the more important. At most 1000000000, but for classes of the system."},
	{name: "globalDefault", value: flagValue, description: "Asks that name no class are of this one; at most one class is. Default: false."},
	{name: "preemptionPolicy", value: exactWordValue, words: classPolicies,
		description: "Whether work of the class may have others of lower priority evicted. Default: PreemptLowerPriority."},
	{name: "description", value: textValue, description: "For people: when to use the class."},
	{name: "submitacl", value: textValue,
		description: "Who may name the class: users, one space, groups; commas within a list. Default: everybody, and nobody for classes of the system."},
	{name: "apiVersion", value: exactWordValue, words: []string{classVersion, ""}, description: "As in Kubernetes; may be left out."},
	{name: "kind", value: exactWordValue, words: []string{classKind, ""}, description: "As in Kubernetes; may be left out."},
	{name: "metadata", value: objectValue, words: []string{"name"}, description: "As in Kubernetes. Of what is in it, only the name counts."},
}

var preemptionMapping = mapping{
	{name: "enabled", value: flagValue, description: "Preempt for queues below their guarantee. Default: true."},
	{name: "quotapreemptionenabled", value: flagValue,
		description: "Preempt in queues that are over a max that was lowered. Default: false."},
	{name: "nodepressureenabled", value: flagValue,
		description: "Preempt allocations of a node whose capacity was lowered below what they use. Default: false."},
	{name: "nominationtimeout", value: durationValue, words: []string{"5m", "0s"},
		description: "How long an ask stays nominated for a node whose victims have not been released yet. 0s: for ever. Default: 5m."},
	{name: "churnbreakerenabled", value: flagValue,
		description: "Circuit breaker: leaf queues in a preemption cycle do not preempt each other during the cool-down. Default: true."},
	{name: "churncycles", value: countValue, description: "How many preemption cycles within the window trip the breaker; at most 1000, 0: cycles are not detected. Default: 10."},
	{name: "churnwindow", value: durationValue, words: []string{"30m"}, description: "The time window in which preemption cycles are counted. Default: 30m."},
	{name: "churncooldown", value: durationValue, words: []string{"5m"}, description: "How long the cool-down lasts. Default: 5m."},
}

var nodeSortMapping = mapping{
	{name: "type", value: exactWordValue, words: nodeSortPolicies,
		description: "fair takes the emptiest node first, binpacking the fullest. Default: fair."},
	{name: "resourceweights", value: weightsValue,
		description: "How much each resource counts for how full a node is; 0 leaves it out. Default: vcore and memory, 1 each."},
}

var resolverMapping = mapping{
	{name: "type", value: textValue, words: resolvers, description: "os, ldap, or empty for one group of the user's name."},
}

var queueMapping = mapping{
	{name: "name", value: queueNameValue, required: true, description: "Name of this level of the queue's path. Case does not count."},
	{name: "parent", value: flagValue, description: "A parent even without children below it here. Default: false."},
	{name: "resources", value: mappingValue, mappingName: "resources", description: "What the queue may use and is promised; not on root."},
	{name: "maxapplications", value: countValue, description: "How many applications may run below. Default: 0, any number."},
	{name: "properties", value: settingsValue, description: "How the queue orders, shows and preempts its work. Most are inherited."},
	{name: "adminacl", value: textValue, description: "Who may administer the queue, and submit to it: users, one space, groups; commas within a list. Default: nobody."},
	{name: "submitacl", value: textValue, description: "Who may submit to the queue and those below: users, one space, groups; commas within a list. Default: nobody."},
	{name: "childtemplate", value: mappingValue, mappingName: "template", description: "What leaves get that placement rules create below."},
	{name: "queues", value: mappingList, mappingName: "queue", description: "The queues below."},
	{name: "limits", value: mappingList, mappingName: "limit", description: "What users and groups may use here."},
	{name: "classquotas", value: mappingList, mappingName: "classquota",
		description: "What asks of some priority classes may ask for and hold here and below; more of them are refused."},
}

var resourcesMapping = mapping{
	{name: "guaranteed", value: quantitiesValue, description: "What the queue is promised. A missing resource is not promised."},
	{name: "max", value: quantitiesValue, description: "What the queue may use. A missing resource is not limited; zero forbids it."},
}

var templateMapping = mapping{
	{name: "maxapplications", value: countValue, description: "How many applications may run in the leaf. Default: 0, any number."},
	{name: "properties", value: settingsValue, description: "All the properties that the leaf has; it inherits none."},
	{name: "resources", value: mappingValue, mappingName: "resources", description: "What the leaf may use and is promised."},
}

var limitMapping = mapping{
	{name: "limit", value: textValue, description: "A description."},
	{name: "users", value: textList, description: "Whom the limit is for, each on their own; '*' is every user not named in this queue."},
	{name: "groups", value: textList, description: "For which groups the limit is, each as one pool; '*' is every group not named in this queue."},
	{name: "maxresources", value: quantitiesValue, description: "What they may use. A missing resource is not limited."},
	{name: "maxapplications", value: countValue, description: "How many applications they may run. Default: 0, any number."},
}

var ruleMapping = mapping{
	{name: "name", value: wordValue, words: ruleNames, required: true,
		description: "What names the queue: the application itself, its user, this rule's value, or a tag of the application."},
	{name: "create", value: flagValue, description: "May name a queue that does not exist yet. Default: false."},
	{name: "value", value: textValue, description: "The queue of a fixed rule, the name of the tag of a tag rule."},
	{name: "filter", value: mappingValue, mappingName: "filter", description: "Whom the rule is for. Default: everybody."},
	{name: "parent", value: mappingValue, mappingName: "rule", description: "The rule that names the queue above. Default: root."},
}

var filterMapping = mapping{
	{name: "type", value: wordValue, words: filterTypes, description: "Whether those who match are let in or kept out. Default: allow."},
	{name: "users", value: textList, description: "Names, or one regular expression."},
	{name: "groups", value: textList, description: "Names, or one regular expression."},
}

var (
	ruleNames   = []string{"provided", "user", "fixed", "tag"}
	filterTypes = []string{"allow", "deny", ""}
	// nodeSortPolicies are policies.ParseNodeSort' names; the default comes first.
	nodeSortPolicies = []string{policies.NodeSortFair.String(), policies.NodeSortBinPacking.String(), ""}
	resolvers        = []string{"", "os", "ldap"} // test is for the tests of upstream
	// classPolicies are priorities.ParsePolicy's names; the default comes first.
	classPolicies = []string{priorities.PreemptLowerPriority.String(), priorities.Never.String(), ""}
)

const (
	classVersion = "scheduling.k8s.io/v1"
	classKind    = "PriorityClass"
)

func (m *mapping) has(name string) bool {
	return slices.ContainsFunc(*m, func(k key) bool { return k.name == name })
}

// names are the keys, for suggestions.
func (m *mapping) names() []string {
	var out []string
	for _, k := range *m {
		out = append(out, k.name)
	}
	return out
}
