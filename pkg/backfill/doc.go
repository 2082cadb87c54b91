// Package backfill lets asks use what reservations hold until these can be used. It owns which asks may (RES-12 to
// RES-15) and which of their allocations are released as soon as a reserved ask fits without them (RES-16).
//
// Which asks reserve nodes is left to package reservation, when allocations have ended at the latest to package
// runtimes, effects to package scheduler, which an Engine knows as Host.
//
// The law: a backfilled allocation changes the latest time of no reservation. It has ended by then, or leaves enough on
// the node, and leaves room in every quota and limit that it shares with a reserved ask.
package backfill
