// Package durations learns how long allocations run: for each queue, and for each value of a configured tag of
// applications in it.
//
// It owns the last durations of each group and what is estimated from them, with what still runs counted as "at least
// as long as now". It learns from effects only, which are delivered asynchronously from scheduling, and reads no state.
//
// The rule that must hold: memory is bounded, by the number of groups and of durations in each, and by the number of
// running allocations.
package durations
