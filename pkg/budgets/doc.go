// Package budgets has disruption budgets, the equivalent of a PodDisruptionBudget of Kubernetes (PRE-65 to
// PRE-72): which allocations a budget selects, how many of them may be disrupted at a time, and a Tracker of the
// allocations that are selected. Package objects says which allocations there are, package preemption chooses
// victims by the counts, package queuesyaml reads budgets from documents.
//
// The invariant: the budgets of every Registry are valid, and no two of a namespace have the same name.
package budgets
