// Package preemption decides when asks preempt, and keeps the outcome.
//
// Engine owns, for one partition, the ask groups to evaluate and their back-off, the nominations and victims that it
// made, the log of preemptions, the preemption cycles with their cool-downs, and the dry run. Entitlements says by
// which reasons an ask may preempt. Which allocations are victims is left to package victim; marks, nominations and
// the arithmetic per node and queue to package objects; effects to package scheduler, which an Engine knows as Host.
//
// The invariant: everything that the log tracks is in the partition, and the leaves of victims are those of nominated
// asks (Engine.Check). No decision depends on the log.
package preemption
