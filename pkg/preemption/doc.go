// Package preemption says by which reasons an ask is entitled to preempt, and detects preemption cycles.
//
// Entitlements reads the state of a partition and changes nothing. CycleDetector reads no partition: it counts the
// preemptions that are recorded with it, and keeps the cool-downs. Victims are selected by package victim.
package preemption
