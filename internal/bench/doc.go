// Package bench measures the cost of scheduling decisions: on queue trees of given depth and width,
// in the core alone, over the in-process API or over gRPC.
//
// It has the workloads, the suites of workloads, the measurement and the comparison of reports. Traces are in
// package sim, the naive twin in package twin. Every figure of a Report is measured in a process that does
// nothing else, with a request stream that is the same for the same Spec and seed.
package bench
