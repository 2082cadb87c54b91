package queuesyaml

import "github.com/canopy-scheduler/canopy/pkg/limits"

var classQuotaMapping = mapping{
	{name: "name", value: textValue, required: true, description: "Name of the quota in this queue, a DNS subdomain."},
	{name: "match", value: mappingValue, mappingName: "classselector", required: true,
		description: "The asks that the quota counts, by priority class."},
	{name: "users", value: textList,
		description: "The users that the quota counts, each separately; '*' is every user not named by a quota of the same " +
			"match in this queue. Default: all users together."},
	{name: "groups", value: textList,
		description: "The groups that the quota counts, each as one pool; '*' is all users of no group that is named."},
	{name: "hard", value: quantitiesValue, required: true,
		description: "The quota of the asks and allocations together; pods is their number. A missing resource is not " +
			"limited; zero forbids it."},
}

var classSelectorMapping = mapping{
	{name: "operator", value: exactWordValue, words: wordsOf(limits.Operators()), required: true,
		description: "In and NotIn match asks by the listed classes, Exists asks of any class, DoesNotExist asks without a " +
			"class. NotIn matches asks without a class too."},
	{name: "classes", value: textList, description: "Names of priority classes, for In and NotIn."},
}
