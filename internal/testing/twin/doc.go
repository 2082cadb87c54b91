// Package twin is a naive second implementation of the scheduler core. The Twin keeps plain lists and
// adds up everything for every question; for each decision it sorts the whole tree and tries every
// node. It takes the same commands as the Core and must have the same effects.
//
// It was written from the rules (docs/behaviour), shares no data structure with package objects, and
// computes and compares every key itself; only the resource arithmetic of package resources, which has
// property tests of its own, is shared. In random runs both must agree after every step.
//
// The twin stores nothing that it can compute. All of it is in test files: no program has it.
package twin
