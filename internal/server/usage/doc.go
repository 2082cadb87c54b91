// Package usage keeps usage over time: for each queue, user and group of a partition what was allocated, owed,
// guaranteed and pending, and the applications that have ended.
//
// It owns the samples, their form in a database, roll-up and retention, and the sums over a window. Where a sample
// comes from is a snapshot of the caller; what an answer looks like is left to package webservice.
//
// The rule that must hold: a value holds from its sample until the next one, and outside of the covered time nothing is
// known. So a sum over a window is exact for what was sampled, and says how much of the window that is (ADR 75).
package usage
