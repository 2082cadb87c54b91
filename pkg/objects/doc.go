// Package objects is the state of one partition: queues, applications, asks,
// allocations and nodes, the orders they stand in, and the ledger that keeps the
// books in balance.
//
// Only Partition changes anything. Every other type is read-only outside this
// package, so a number in a node, a queue, its ancestors and an application can only
// move together. What to do next is decided by package scheduler; what comes first
// is said by package policies; what a setting may be was checked by package configs.
//
// The package has no goroutines, no locks, no clock, no logger and no metrics. Time
// comes in as an argument; what happened goes out as a return value.
//
// The rule that must hold: Check finds nothing, after every call.
package objects
