// Package lifecycle owns the states of applications: the table of transitions, why and when a state was entered,
// the bounded log of an application, the history of ended ones, and what their ended allocations have used.
//
// When an application changes its state, and what the change does to queues and limits, is left to package objects.
//
// Everything here is bounded, by numbers that the rules name, however long an application lives and however many
// have ended; and a record, once read, never changes.
package lifecycle
