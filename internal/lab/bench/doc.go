// Package bench measures the cost of scheduling decisions: on queue trees of given depth and width,
// in the core alone, over the in-process API or over gRPC.
//
// It makes the requests of a workload, has the suites of workloads and runs the measurements. What a workload is, is
// in package workload; results and their comparison are in package report, the reading of clocks and counters in
// package measure, traces in package sim. It measures no correctness: the tests of package twin play a small form of
// each workload and compare every decision. Every figure of a Report is measured in a process that does nothing else,
// with a request stream that is the same for the same Spec and seed.
package bench
