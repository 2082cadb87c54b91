package validation

import "slices"

// Rule is a rule of the validation. Each Problem has the ID of one.
type Rule struct {
	ID       string // stable: other programs may filter by it
	Severity Severity
	Summary  string
}

// Rules lists every rule (CFG-12). V rules are checks that YuniKorn has too; L rules are checks that YuniKorn makes
// only when it loads a document. Four numbers are missing because the rules cannot be broken: V4 and V8 (a root queue
// is added), V10 (limits of a partition are root's) and L4 (root in another case is root).
//
// The ID of a class- rule without its prefix is the reason that REST returns (package priorities); so is that of a
// budget- rule (package budgets).
//
// offset-system adds the offsets from a leaf upwards to 1,000,000,000, the highest value of
// a user's priority class, and warns where the sum reaches 2,000,000,000, the lowest value
// of a system class. With a fence the current priority is the offset alone; there the
// warning is given above 1,000,000,000, where the reserved range of Kubernetes begins (CFG-77).
func Rules() []Rule { return slices.Clone(ruleTable) }

var ruleTable = []Rule{
	{"yaml-syntax", Error, "the text is not YAML"},
	{"yaml-type", Error, "a value is of another kind than its key wants"},
	{"yaml-unknown-key", Error, "a mapping has a key that does not exist"},
	{"yaml-duplicate-key", Error, "a mapping has a duplicate key"},
	{"yaml-alias", Error, "anchors, aliases and merge keys are refused"},
	{"bound-bytes", Error, "the text is longer than max-config-bytes"},
	{"bound-values", Error, "the text has more values than max-config-values"},
	{"bound-queues", Error, "there are more queues than max-queues"},
	{"bound-depth", Error, "queues or placement rules are nested deeper than max-depth"},
	{"bound-rules", Error, "there are too many placement rules"},
	{"bound-filters", Error, "the regular expressions of the filters are too large together"},
	{"bound-properties", Error, "a queue has too many properties, inherited ones included"},
	{"bound-resources", Error, "a partition names too many different resources"},
	{"configmap", Error, "a Kubernetes object is a ConfigMap with a queues.yaml"},
	{"no-partition", Error, "the document has a partition"},
	{"quantity", Error, "a quantity of max or guaranteed cannot be read"},
	{"V1", Error, "partition names are unique in any case"},
	{"V2", Error, "a partition has the key queues"},
	{"V3", Error, "root has neither max nor guaranteed"},
	{"V5", Error, "queue names are legal"},
	{"V6", Error, "names of siblings are unique in any case"},
	{"V7", Error, "an access list has at most two lists"},
	{"V9", Error, "limits of a partition and of its root are the same"},
	{"V11", Error, "a limit is for some user or group"},
	{"V12", Error, "names in limits are legal"},
	{"V13", Error, "a user or a group has one limit in a queue"},
	{"V14", Error, "the wildcard is the last of the limits of a queue"},
	{"V15", Error, "a wildcard group follows a named group"},
	{"V16", Error, "maxresources can be read, and some are above zero"},
	{"V17", Error, "a limit limits something"},
	{"V18", Error, "maxapplications of a limit are within those of the queue"},
	{"V19", Error, "maxresources of a limit are within the max of the queue"},
	{"V20", Error, "maxresources of a limit are within those of the queues above"},
	{"V21", Error, "maxapplications of a limit are within those of the queues above"},
	{"V22", Error, "guaranteed is within max"},
	{"V23", Error, "max is within the max of the queues above"},
	{"V24", Error, "the guarantees of children are within guarantee and max"},
	{"V25", Error, "maxapplications are within those of the parent"},
	{"V26", Error, "names of placement rules are legal"},
	{"V27", Error, "the type of a filter is allow or deny"},
	{"V28", Error, "the only element of a filter's list is a name or an expression"},
	{"V29", Error, "a fixed placement rule leads to a queue that exists or may be created"},
	{"V30", Error, "the node sort policy exists"},
	{"V31", Error, "weights of resources are not negative"},
	{"L1", Error, "an access list with two lists does not begin with a space"},
	{"L2", Error, "a quantity of a child template can be read"},
	{"L3", Error, "a placement rule exists and has the value it needs"},
	{"class-invalid-kind", Error, "an object among the priority classes is a PriorityClass"},
	{"class-invalid-name", Error, "the name of a priority class is a DNS subdomain"},
	{"class-invalid-value", Error, "the value of a priority class is a whole number of 32 bits"},
	{"class-invalid-policy", Error, "the policy of a priority class exists"},
	{"class-invalid-acl", Error, "the access list of a priority class can be read"},
	{"class-reserved-name", Error, "a priority class whose name begins with system- is an unchanged system class"},
	{"class-above-user-maximum", Error, "a priority class has at most the value 1000000000"},
	{"class-already-exists", Error, "names of priority classes are unique"},
	{"class-second-global-default", Error, "at most one priority class is the default"},
	{"budget-invalid-kind", Error, "an object among the disruption budgets is a PodDisruptionBudget"},
	{"budget-invalid-name", Error, "the name of a disruption budget is a DNS subdomain"},
	{"budget-invalid-namespace", Error, "the namespace of a disruption budget is a DNS label"},
	{"budget-invalid-selector", Error, "labels and expressions of a disruption budget are legal"},
	{"budget-invalid-allowance", Error,
		"the allowance of a disruption budget is a whole number, or 0% to 100%"},
	{"budget-one-allowance", Error, "a disruption budget has one of minAvailable, maxUnavailable and allowed"},
	{"budget-duplicate-field", Error, "a field of a disruption budget is in spec or outside of it, not both"},
	{"budget-already-exists", Error, "names of disruption budgets are unique in their namespace"},
	{"classquota-name", Error, "the name of a class quota is a DNS subdomain, and unique in its queue"},
	{"classquota-operator", Error, "a class quota has a match, and a selector has an operator that exists"},
	{"classquota-selector", Error,
		"In and NotIn have legal classes, each once, others none; no selector is repeated"},
	{"classquota-holder", Error, "users and groups of a class quota are legal, and have one quota of a match in a queue"},
	{"classquota-hard", Error, "a class quota limits something"},
	{"classquota-above", Error, "a class quota for all users is within those of the same match above"},
	{"bound-problems", Warning, "there are more problems than are listed"},
	{"yaml-documents", Warning, "documents after the first are not read"},
	{"property-unknown", Warning, "a property does not exist and has no effect"},
	{"property-value", Warning, "a property has a malformed value; the default is used"},
	{"property-unused", Warning, "a property of YuniKorn has no effect"},
	{"stateaware-parent", Warning, "stateaware has no effect on a parent"},
	{"offset-system", Warning, "offsets raise asks of users to system priorities"},
	{"zero-resources", Warning, "max or guaranteed with nothing but zeroes counts as not set"},
	{"resource-name", Warning, "a quantity is for a name that is probably a well-known resource"},
	{"resource-similar", Warning, "a quantity is for a name that is nearly another one of the document"},
	{"resource-absent", Warning, "a quantity is for a resource that no node of the server has"},
	{"guarantee-beyond-nodes", Warning, "queues are guaranteed more than all nodes of the server have"},
	{"quota-percent", Warning, "with the nodes of the server, percents exceed what they are of, or other quotas"},
	{"recovery-queue", Warning, "the recovery queue is configured"},
	{"quantity-small", Warning, "a quantity is so small that nothing can run in it"},
	{"resolver-unknown", Warning, "the type of usergroupresolver does not exist"},
	{"acl-name", Warning, "an access list has a name that no user or group can have"},
	{"filter-name", Warning, "a filter has a name that no user or group can have"},
	{"class-acl-name", Warning, "the access list of a priority class has a name that no user or group can have"},
	{"budget-empty-selector", Warning, "the selector of a disruption budget has no condition and selects nothing"},
	{"classquota-class", Warning, "a class quota or a selector names a priority class that does not exist"},
	{"classquota-uncovered", Warning, "a class needs a quota and no queue has one, so all its asks are rejected"},
	{"template-leaf", Warning, "a child template has no effect on a leaf"},
	{"fair-parent", Warning, "leaf queues inherit fair from a parent, and so reject gangs"},
	{"fair-raw", Warning, "fair without a guarantee compares plain numbers"},
	{"runtime-default", Warning, "the default run time is above the maximum"},
	{"backfill-unbounded", Warning, "a partition has backfill, and no queue enforces a bound of run times"},
	{"priority-off", Warning, "preemption.priority is set where priorities are switched off"},
	{"quota-delay", Warning, "quota.preemption.delay is set where no max is enforced"},
	{"no-submit-access", Warning, "no queue of a partition has an access list"},
	{"partition-default", Warning, "the name of a partition is nearly default, and no partition has that name"},
}

// severityOf is the severity of a rule. Every rule has only one.
func severityOf(id string) Severity {
	for _, x := range ruleTable {
		if x.ID == id {
			return x.Severity
		}
	}
	panic("validation: rule " + id + " is not in the table")
}
