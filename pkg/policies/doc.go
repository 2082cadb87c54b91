// Package policies has the orders of queues, applications, asks and nodes (docs/behaviour/ordering.md), the
// priority of queues, and the settings that preemption reads from a queue.
//
// A policy compares small keys, never live objects: package objects fills the keys, keeps them up to date and
// decides when they are compared.
//
// The invariant: every comparison is a total order: a tie is broken by a name, an ID or the order of arrival, so that
// two different things are never equal.
package policies
