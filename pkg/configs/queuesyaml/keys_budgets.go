package queuesyaml

import "github.com/canopy-scheduler/canopy/pkg/budgets"

const (
	budgetsKey    = "disruptionbudgets"
	budgetVersion = "policy/v1"
	budgetKind    = "PodDisruptionBudget"
)

const (
	aboutMin = "How many of the selected allocations must stay available: a number, or a percentage such as 50%, " +
		"rounded up."
	aboutMax = "How many of the selected allocations may be disrupted at the same time: a number, or a percentage such " +
		"as 50%, rounded up."
)

var budgetMapping = mapping{
	{name: "name", value: textValue,
		description: "Name of the budget, a DNS subdomain, unique in its namespace; here or in metadata."},
	{name: "namespace", value: textValue,
		description: "The namespace of the allocations that the budget selects; here or in metadata. Default: default."},
	{name: "selector", value: mappingValue, mappingName: "selector",
		description: "The allocations that the budget selects, by labels. Without conditions: none."},
	{name: "minAvailable", value: numberOrPercentValue, description: aboutMin},
	{name: "maxUnavailable", value: numberOrPercentValue, description: aboutMax},
	{name: "allowed", value: countValue, description: "How many disruptions are allowed, as computed by another program."},
	{name: "apiVersion", value: exactWordValue, words: []string{budgetVersion, ""},
		description: "As in Kubernetes; may be left out."},
	{name: "kind", value: exactWordValue, words: []string{budgetKind, ""},
		description: "As in Kubernetes; may be left out."},
	{name: "metadata", value: objectValue, words: []string{"name", "namespace"},
		description: "As in Kubernetes. Only name and namespace are read."},
	{name: "spec", value: mappingValue, mappingName: "budgetspec",
		description: "As in Kubernetes; its keys may be in the budget itself instead."},
	{name: "status", value: objectValue,
		description: "As in Kubernetes. Ignored: the scheduler counts the allocations itself."},
}

var budgetSpecMapping = mapping{
	{name: "selector", value: mappingValue, mappingName: "selector",
		description: "The allocations that the budget selects, by labels. Without conditions: none."},
	{name: "minAvailable", value: numberOrPercentValue, description: aboutMin},
	{name: "maxUnavailable", value: numberOrPercentValue, description: aboutMax},
	{name: "unhealthyPodEvictionPolicy", value: textValue,
		description: "As in Kubernetes. Ignored: every allocation counts as healthy."},
}

var selectorMapping = mapping{
	{name: "matchLabels", value: labelsValue, description: "Labels of the selected allocations, with their values."},
	{name: "matchExpressions", value: mappingList, mappingName: "expression",
		description: "Conditions on the labels of the selected allocations."},
}

var expressionMapping = mapping{
	{name: "key", value: textValue, required: true, description: "The label."},
	{name: "operator", value: exactWordValue, words: operators(), required: true,
		description: "The operator of the condition."},
	{name: "values", value: textList, description: "The values of the label; with In and NotIn only."},
}

func operators() (words []string) {
	for _, o := range budgets.Operators() {
		words = append(words, string(o))
	}
	return words
}
