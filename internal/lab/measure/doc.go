// Package measure measures the process that it runs in, for benchmarks: CPU time, wall time, heap allocations and
// heap, histograms of durations and profiles. It also says which machine the figures are from, and sets the priority
// of the process among those of the benchmark.
//
// It knows no workload and no scheduler: what a decision is, and what of a measurement is reported, is left to package
// bench and to bench/versus. The rule: all arms of a comparison are measured by this code.
package measure
