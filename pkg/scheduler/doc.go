// Package scheduler decides. It is a state machine with one writer:
//
//	effects := core.Step(now, command)       // something was said to us
//	effects, more := core.Schedule(now, 100) // we may decide up to 100 things
//
// The same commands at the same times with the same Oracle answers give the same
// effects, byte for byte. To keep that true nothing in this package, or below it,
// reads a clock, starts a goroutine, takes a lock, logs, counts a metric, draws a
// random number or lets the order of a map reach a decision.
//
// The package does not know gRPC, REST, files or Prometheus. Package loop drives it;
// rmproxy and webservice translate at the doors.
//
// The rule that must hold: every change an RM can see has exactly one effect, in the
// order in which it became true.
package scheduler
