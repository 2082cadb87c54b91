// Package objects holds the state of one partition (queues, applications, asks, allocations and
// nodes), the orders in which they are considered, and the ledger, the only code that changes
// quantities.
//
// Only methods of Partition change state. All other types are read-only outside of this package, so
// that a quantity changes in a node, an application, its queue and all ancestors together. Package
// scheduler decides what to do next, package policies defines the orders, package configs validates
// the settings.
//
// The package has no goroutine, lock, clock, logger or metric. Methods that need the time take it
// as an argument, and return what they changed.
//
// Invariant: Check reports nothing after any call.
package objects
