// Package rmproxy is the door through which a resource manager talks to the scheduler.
// It has two leaves: the gRPC service si.v1.Scheduler, and the Go interface
// api.SchedulerAPI for shims that link the core. Behind both is one session, which
// turns messages into commands and effects into messages. What commands do and who
// decides is not known here.
//
// One resource manager at a time is registered. Registering again starts over: its
// streams end, the scheduler forgets, and what had not been delivered is void.
//
// The rule that must hold: an RM hears every effect since its registration, once, in
// the order of the scheduler within each kind of answer, and nothing from before.
package rmproxy
