// Package fairness orders queues, applications and users by usage over time: what was used a half-life ago counts for
// half (fairness.halflife).
//
// It owns the histories of usage, what an amount costs, and when keys are computed again. It leaves the order to
// package objects, which compares the keys, and the numbers to package decay.
//
// The rule: a key depends on what was held and when, and on the tick, and on nothing else. So a replay has the same
// keys.
package fairness
