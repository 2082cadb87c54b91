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
	name     string
	value    kind
	of       string   // mappingValue, mappingList: which of mappings
	words    []string // wordValue: what the value may be; textValue: what it usually is; objectValue: its texts
	required bool
	about    string // what it is for, its unit and its default
}

// kind is what the value of a key is. Unless it is required, it may also be null, which
// is the same as leaving the key out.
type kind uint8

const (
	textValue      kind = iota // also a number or a boolean, as it is written
	queueNameValue             // one level of a queue path
	wordValue                  // one of some words, in any case
	exactWordValue             // one of some words, as they are
	flagValue
	countValue
	int32Value
	durationValue      // a text such as 5m; words are examples
	objectValue        // a mapping of which only some texts are ours: words
	numberOrShareValue // 3 or 50%
	labelsValue        // any names to texts
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
	"nodesort":      &nodesMapping,
	"resolver":      &resolverMapping,
}

var documentMapping = mapping{
	{name: "partitions", value: mappingList, of: "partition", about: "The partitions: pools of nodes, each with a queue tree of its own."},
	{name: "priorityclasses", value: mappingList, of: "class",
		about: "Names for priorities, for the whole cluster. A PriorityClass of Kubernetes is taken as it is."},
	{name: budgetsKey, value: mappingList, of: "budget",
		about: "How much of some work may be taken away at the same time, in each partition. A PodDisruptionBudget of Kubernetes is taken as it is."},
	{name: "checksum", value: textValue, about: "Ignored; it is computed."},
}

var partitionMapping = mapping{
	{name: "name", value: textValue, about: "Name of the partition. Default: default."},
	{name: "queues", value: mappingList, of: "queue", required: true,
		about: "The top of the queue tree. A single queue called root is the root; otherwise all of these go below one."},
	{name: "placementrules", value: mappingList, of: "rule",
		about: "Which queue an application gets; the first rule that names one decides. Default: the queue it names itself."},
	{name: "limits", value: mappingList, of: "limit", about: "The limits of the root queue."},
	{name: "priority", value: exactWordValue, words: []string{"enabled", "disabled"},
		about: "disabled: no order heeds priorities, no ask preempts, and asks that name a class are refused. Default: enabled."},
	{name: "preemption", value: mappingValue, of: "preemption", about: "Whether work may be evicted for other work."},
	{name: "nodesortpolicy", value: mappingValue, of: "nodesort", about: "Which node is tried first."},
	{name: "usergroupresolver", value: mappingValue, of: "resolver", about: "Where the groups of a user come from."},
	{name: "classesneedingquota", value: mappingList, of: "classselector",
		about: "Asks that are refused unless a class quota of their queue or one above counts them. Default: none."},
}

var classMapping = mapping{
	{name: "name", value: textValue, about: "Name of the class, a DNS subdomain; here or in metadata."},
	{name: "value", value: int32Value, required: true,
		about: "The priority: the larger, the more important. At most 1000000000, but for classes of the system."},
	{name: "globalDefault", value: flagValue, about: "Asks that name no class are of this one; at most one class is. Default: false."},
	{name: "preemptionPolicy", value: exactWordValue, words: classPolicies,
		about: "Whether work of the class may have others of lower priority evicted. Default: PreemptLowerPriority."},
	{name: "description", value: textValue, about: "For people: when to use the class."},
	{name: "submitacl", value: textValue,
		about: "Who may name the class: users, one space, groups; commas within a list. Default: everybody, and nobody for classes of the system."},
	{name: "apiVersion", value: exactWordValue, words: []string{classVersion, ""}, about: "As in Kubernetes; may be left out."},
	{name: "kind", value: exactWordValue, words: []string{classKind, ""}, about: "As in Kubernetes; may be left out."},
	{name: "metadata", value: objectValue, words: []string{"name"}, about: "As in Kubernetes. Of what is in it, only the name counts."},
}

var preemptionMapping = mapping{
	{name: "enabled", value: flagValue, about: "Preempt for queues below their guarantee. Default: true."},
	{name: "quotapreemptionenabled", value: flagValue,
		about: "Preempt in queues that are over a max that was lowered. Default: false."},
	{name: "nodepressureenabled", value: flagValue,
		about: "Tell work to leave a node whose capacity was lowered below what it holds. Default: false."},
	{name: "nominationtimeout", value: durationValue, words: []string{"5m", "0s"},
		about: "How long an ask waits for a node that others were told to leave, and how long they are waited for. 0s: for ever. Default: 5m."},
	{name: "churnbreakerenabled", value: flagValue,
		about: "Let leaves between which room goes round by preemption not preempt each other for a while. Default: true."},
	{name: "churnrounds", value: countValue, about: "How often it has to go round; at most 1000, 0: nobody watches. Default: 10."},
	{name: "churnwindow", value: durationValue, words: []string{"30m"}, about: "Within how long. Default: 30m."},
	{name: "churnpause", value: durationValue, words: []string{"5m"}, about: "How long they do not preempt each other then. Default: 5m."},
}

var nodesMapping = mapping{
	{name: "type", value: exactWordValue, words: nodePolicies,
		about: "fair takes the emptiest node first, binpacking the fullest. Default: fair."},
	{name: "resourceweights", value: weightsValue,
		about: "How much each resource counts for how full a node is; 0 leaves it out. Default: vcore and memory, 1 each."},
}

var resolverMapping = mapping{
	{name: "type", value: textValue, words: resolvers, about: "os, ldap, or empty for one group of the user's name."},
}

var queueMapping = mapping{
	{name: "name", value: queueNameValue, required: true, about: "Name of this level of the queue's path. Case does not count."},
	{name: "parent", value: flagValue, about: "A parent even without children below it here. Default: false."},
	{name: "resources", value: mappingValue, of: "resources", about: "What the queue may use and is promised; not on root."},
	{name: "maxapplications", value: countValue, about: "How many applications may run below. Default: 0, any number."},
	{name: "properties", value: settingsValue, about: "How the queue orders, shows and preempts its work. Most are inherited."},
	{name: "adminacl", value: textValue, about: "Who may administer the queue, and submit to it: users, one space, groups; commas within a list. Default: nobody."},
	{name: "submitacl", value: textValue, about: "Who may submit to the queue and those below: users, one space, groups; commas within a list. Default: nobody."},
	{name: "childtemplate", value: mappingValue, of: "template", about: "What leaves get that placement rules create below."},
	{name: "queues", value: mappingList, of: "queue", about: "The queues below."},
	{name: "limits", value: mappingList, of: "limit", about: "What users and groups may use here."},
	{name: "classquotas", value: mappingList, of: "classquota",
		about: "What asks of some priority classes may ask for and hold here and below; more of them are refused."},
}

var resourcesMapping = mapping{
	{name: "guaranteed", value: quantitiesValue, about: "What the queue is promised. A missing resource is not promised."},
	{name: "max", value: quantitiesValue, about: "What the queue may use. A missing resource is not limited; zero forbids it."},
}

var templateMapping = mapping{
	{name: "maxapplications", value: countValue, about: "How many applications may run in the leaf. Default: 0, any number."},
	{name: "properties", value: settingsValue, about: "All the properties that the leaf has; it inherits none."},
	{name: "resources", value: mappingValue, of: "resources", about: "What the leaf may use and is promised."},
}

var limitMapping = mapping{
	{name: "limit", value: textValue, about: "A description."},
	{name: "users", value: textList, about: "Whom the limit is for, each on their own; '*' is every user not named in this queue."},
	{name: "groups", value: textList, about: "For which groups the limit is, each as one pool; '*' is every group not named in this queue."},
	{name: "maxresources", value: quantitiesValue, about: "What they may use. A missing resource is not limited."},
	{name: "maxapplications", value: countValue, about: "How many applications they may run. Default: 0, any number."},
}

var ruleMapping = mapping{
	{name: "name", value: wordValue, words: ruleNames, required: true,
		about: "What names the queue: the application itself, its user, this rule's value, or a tag of the application."},
	{name: "create", value: flagValue, about: "May name a queue that does not exist yet. Default: false."},
	{name: "value", value: textValue, about: "The queue of a fixed rule, the name of the tag of a tag rule."},
	{name: "filter", value: mappingValue, of: "filter", about: "Whom the rule is for. Default: everybody."},
	{name: "parent", value: mappingValue, of: "rule", about: "The rule that names the queue above. Default: root."},
}

var filterMapping = mapping{
	{name: "type", value: wordValue, words: filterTypes, about: "Whether those who match are let in or kept out. Default: allow."},
	{name: "users", value: textList, about: "Names, or one regular expression."},
	{name: "groups", value: textList, about: "Names, or one regular expression."},
}

var (
	ruleNames   = []string{"provided", "user", "fixed", "tag"}
	filterTypes = []string{"allow", "deny", ""}
	// nodePolicies are policies.ParseNodes' names; the default comes first.
	nodePolicies = []string{policies.Spread.String(), policies.Pack.String(), ""}
	resolvers    = []string{"", "os", "ldap"} // test is for the tests of upstream
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
