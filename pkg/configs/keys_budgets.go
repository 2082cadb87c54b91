package configs

import "github.com/canopy-scheduler/canopy/pkg/budgets"

const (
	budgetsKey    = "disruptionbudgets"
	budgetVersion = "policy/v1"
	budgetKind    = "PodDisruptionBudget"
)

const (
	aboutMin = "How many of the selected must stay: a number, or a share such as 50%, rounded up."
	aboutMax = "How many of the selected may be leaving at the same time: a number, or a share such as 50%, rounded up."
)

var budgetMapping = mapping{
	{name: "name", value: textValue, about: "Name of the budget, a DNS subdomain, unique in its namespace; here or in metadata."},
	{name: "namespace", value: textValue, about: "Whose work the budget is about; here or in metadata. Default: default."},
	{name: "selector", value: mappingValue, of: "selector", about: "Which work the budget is about. Without conditions: none."},
	{name: "minAvailable", value: numberOrShareValue, about: aboutMin},
	{name: "maxUnavailable", value: numberOrShareValue, about: aboutMax},
	{name: "allowed", value: countValue, about: "How many may be leaving, where another program has found that out."},
	{name: "apiVersion", value: exactWordValue, words: []string{budgetVersion, ""}, about: "As in Kubernetes; may be left out."},
	{name: "kind", value: exactWordValue, words: []string{budgetKind, ""}, about: "As in Kubernetes; may be left out."},
	{name: "metadata", value: objectValue, words: []string{"name", "namespace"},
		about: "As in Kubernetes. Of what is in it, only name and namespace count."},
	{name: "spec", value: mappingValue, of: "budgetspec", about: "As in Kubernetes; what is in it may be beside it instead."},
	{name: "status", value: objectValue, about: "As in Kubernetes. Ignored: it is counted here."},
}

var budgetSpecMapping = mapping{
	{name: "selector", value: mappingValue, of: "selector", about: "Which work the budget is about. Without conditions: none."},
	{name: "minAvailable", value: numberOrShareValue, about: aboutMin},
	{name: "maxUnavailable", value: numberOrShareValue, about: aboutMax},
	{name: "unhealthyPodEvictionPolicy", value: textValue, about: "As in Kubernetes. Ignored: what runs is taken for healthy."},
}

var selectorMapping = mapping{
	{name: "matchLabels", value: labelsValue, about: "Labels that the work has, with their values."},
	{name: "matchExpressions", value: mappingList, of: "expression", about: "Conditions that hold for the labels of the work."},
}

var expressionMapping = mapping{
	{name: "key", value: textValue, required: true, about: "The label."},
	{name: "operator", value: exactWordValue, words: operators(), required: true, about: "What is asked of the label."},
	{name: "values", value: textList, about: "The values that it has, or does not have; of In and NotIn only."},
}

func operators() (words []string) {
	for _, o := range budgets.Operators() {
		words = append(words, string(o))
	}
	return words
}
