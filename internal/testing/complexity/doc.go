// Package complexity checks that the cost of a decision does not grow with the cluster, by counting
// statements. Its tests build the core so that every statement is counted, run decisions in a small
// cluster and in a large one, and compare the counts: they are the same on every machine, and every
// scan shows in them.
//
// Times are measured by `canopy-lab bench`; nothing here reads a clock.
package complexity
