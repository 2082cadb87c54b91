// Package budgets says how many pieces of work of a kind may be taken away at the same time:
// what a PodDisruptionBudget of Kubernetes says. It owns which work a budget is about and how
// many of so many may leave. Who counts, and who is spared because of it, is for others; where
// budgets are written down is for package configs.
//
// The rule that must hold: whatever way a Registry was made, its budgets are valid, and no two
// of a namespace have the same name.
package budgets
