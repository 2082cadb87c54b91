// Package loop owns the one goroutine that may access a scheduler.Core. Concurrency ends here:
// commands wait in a mailbox, the clock is read in one place, effects are delivered to a Sink in
// order.
//
// The loop applies all waiting commands at once; then the Core makes a batch of decisions.
// Effects are delivered asynchronously, so a slow Sink delays decisions, but never commands. The
// package does not know what effects mean.
//
// A resource manager that answers predicates from its own cache must know every earlier placement
// first. With SyncDelivery the loop itself delivers each decision, and does nothing else
// meanwhile (ADR 16).
//
// Invariant: only the goroutine of Run accesses the Core.
package loop
