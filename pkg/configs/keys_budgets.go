package configs

import "github.com/canopy-scheduler/canopy/pkg/budgets"

const (
	budgetsKey    = "disruptionbudgets"
	budgetVersion = "policy/v1"
	budgetKind    = "PodDisruptionBudget"
)

const (
	aboutMin = "How many of the selected must stay available: a number, or a percentage such as 50%, rounded up."
	aboutMax = "How many of the selected may be disrupted at the same time: a number, or a percentage such as 50%, rounded up."
)

var budgetMapping = mapping{
	{name: "name", value: textValue, description: "Name of the budget, a DNS subdomain, unique in its namespace; here or in metadata."},
	{name: "namespace", value: textValue, description: "Whose work the budget is about; here or in metadata. Default: default."},
	{name: "selector", value: mappingValue, mappingName: "selector", description: "Which work the budget is about. Without conditions: none."},
	{name: "minAvailable", value: numberOrPercentValue, description: aboutMin},
	{name: "maxUnavailable", value: numberOrPercentValue, description: aboutMax},
	{name: "allowed", value: countValue, description: "How many disruptions are allowed, as computed by another program."},
	{name: "apiVersion", value: exactWordValue, words: []string{budgetVersion, ""}, description: "As in Kubernetes; may be left out."},
	{name: "kind", value: exactWordValue, words: []string{budgetKind, ""}, description: "As in Kubernetes; may be left out."},
	{name: "metadata", value: objectValue, words: []string{"name", "namespace"},
		description: "As in Kubernetes. Of what is in it, only name and namespace count."},
	{name: "spec", value: mappingValue, mappingName: "budgetspec", description: "As in Kubernetes; what is in it may be beside it instead."},
	{name: "status", value: objectValue, description: "As in Kubernetes. Ignored: it is counted here."},
}

var budgetSpecMapping = mapping{
	{name: "selector", value: mappingValue, mappingName: "selector", description: "Which work the budget is about. Without conditions: none."},
	{name: "minAvailable", value: numberOrPercentValue, description: aboutMin},
	{name: "maxUnavailable", value: numberOrPercentValue, description: aboutMax},
	{name: "unhealthyPodEvictionPolicy", value: textValue, description: "As in Kubernetes. Ignored: what runs is taken for healthy."},
}

var selectorMapping = mapping{
	{name: "matchLabels", value: labelsValue, description: "Labels that the work has, with their values."},
	{name: "matchExpressions", value: mappingList, mappingName: "expression", description: "Conditions that hold for the labels of the work."},
}

var expressionMapping = mapping{
	{name: "key", value: textValue, required: true, description: "The label."},
	{name: "operator", value: exactWordValue, words: operators(), required: true, description: "What is asked of the label."},
	{name: "values", value: textList, description: "The values that it has, or does not have; of In and NotIn only."},
}

func operators() (words []string) {
	for _, o := range budgets.Operators() {
		words = append(words, string(o))
	}
	return words
}
