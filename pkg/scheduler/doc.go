// Package scheduler is the core: a state machine with a single writer.
//
//	effects := core.Step(now, command)       // applies one command
//	effects, more := core.Schedule(now, 100) // makes at most 100 decisions
//
// The same commands at the same times with the same Oracle answers give the same effects, byte for byte. So
// nothing in this package, or in the packages that it imports, reads a clock, starts a goroutine, takes a
// lock, logs, counts a metric, draws a random number or lets the order of a map affect a decision.
//
// The package does not know gRPC, REST, files or Prometheus. Package loop drives it; rmproxy and webservice
// translate between it and the APIs. What nobody but Canopy has, such as an Explanation, has its names in REST as
// tags, and is not translated.
//
// Invariant: each change that an RM can see has exactly one effect, and effects are in the order of the
// changes.
package scheduler
