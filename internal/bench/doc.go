// Package bench measures what decisions cost: on queue trees of chosen depth and width,
// through the core alone, the in-process door or gRPC.
//
// It owns the workloads, the suites made of them, the measuring and the reading of what
// was measured. It leaves to package sim what a real trace looks like and to package twin
// what the right decision is. The rule: a figure in a Report was measured in a process
// that did nothing else, with a stream that is the same for the same Spec and seed.
package bench
