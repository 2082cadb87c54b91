package configs

import "github.com/canopy-scheduler/canopy/pkg/limits"

var classQuotaMapping = mapping{
	{name: "name", value: textValue, required: true, description: "Name of the quota in this queue, a DNS subdomain."},
	{name: "match", value: mappingValue, mappingName: "classselector", required: true, description: "Which asks it counts."},
	{name: "users", value: textList, description: "Whom it counts, each on their own; '*' is every user not named by a quota of the same match in this queue. Default: it counts everybody together."},
	{name: "groups", value: textList, description: "Which groups it counts, each as one pool; '*' is all users of no group that is named."},
	{name: "hard", value: quantitiesValue, required: true,
		description: "How much the asks and allocations may be together; pods is how many. A missing resource is not limited; zero forbids it."},
}

var classSelectorMapping = mapping{
	{name: "operator", value: exactWordValue, words: classOperators(), required: true,
		description: "In and NotIn find asks by the classes listed, Exists those of any class, DoesNotExist those of none. NotIn finds those of none, too."},
	{name: "classes", value: textList, description: "Names of priority classes, for In and NotIn."},
}

func classOperators() (words []string) {
	for _, o := range limits.Operators() {
		words = append(words, o.String())
	}
	return words
}
