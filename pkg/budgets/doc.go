// Package budgets has disruption budgets, the equivalent of a PodDisruptionBudget of Kubernetes (PRE-65 to
// PRE-72): which allocations a budget selects, and how many of them may be disrupted at a time. Package objects
// counts the allocations of each budget, package preemption chooses victims by these counts, package configs
// reads budgets from documents.
//
// The invariant: the budgets of every Registry are valid, and no two of a namespace have the same name.
package budgets
