// Package canopy runs a scheduler inside a Go program.
//
// Start returns a running Server. Its resource manager is code of the same program, through
// Server.Scheduler (the interface api.SchedulerAPI of Apache YuniKorn), or another process, through the
// gRPC server of Options.GRPC. REST, metrics and event streams are at Options.HTTP, or wherever the
// program mounts Server.Handler. The zero Options are valid: they start a scheduler with the default
// configuration that opens no port and no file.
//
// StartMember returns a Member of a group of processes, which runs a Server while it leads and says where the leader is
// while it does not (docs/HA.md).
//
// docs/EMBEDDING.md says when to embed a scheduler, how, and what later versions keep. This is the only
// package of the module that is supported for importing.
//
// The package owns how the parts of a running scheduler are put together, and in which order they begin
// and end. It leaves the configuration in force to internal/server/engine and internal/server/reload, and decisions to
// pkg/scheduler.
//
// Invariant: everything that Start began has ended when Close returns nil.
package canopy
