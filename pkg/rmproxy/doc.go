// Package rmproxy is the API between resource managers and the scheduler: the gRPC service
// si.v1.Scheduler, and the Go interface api.SchedulerAPI for shims that link the core. Both use a
// session, which turns messages into commands and effects into messages. The package does not
// know what commands do, and the scheduler that it connects is not its own: package engine has the
// partitions and the configuration.
//
// One resource manager is registered at a time, over either API. A new registration starts over: the streams end,
// the partitions are emptied, and undelivered effects are dropped.
//
// Invariant: an RM gets every effect since its registration, once, in the order of the scheduler
// within each kind of answer, and none from before.
package rmproxy
