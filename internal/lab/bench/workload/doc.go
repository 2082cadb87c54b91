// Package workload describes the workloads of a benchmark as data: a Spec, its bounds, and what follows from it by
// arithmetic alone. The requests that follow from a Spec and a seed are made by package bench.
//
// The rule: a Spec that Check accepts can be run, and means the same in every Report.
package workload
