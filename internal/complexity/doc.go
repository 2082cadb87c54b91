// Package counts holds decisions to a cost that does not grow with the cluster, by counting
// what they execute. Its tests build the core so that every statement is counted, let it
// decide in a small cluster and in a large one, and compare the counts: they are the same
// on every machine, however busy it is, and a scan shows in them whatever it looks like.
//
// It leaves to `canopy bench` what a decision takes in time. The rule: nothing here reads
// a clock.
package complexity
