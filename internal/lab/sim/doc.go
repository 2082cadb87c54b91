// Package sim simulates a resource manager: Client talks to a scheduler over the gRPC scheduler
// interface as a shim does, and its nodes and tasks exist only as numbers. Replay submits a trace; Client.Audit
// checks the result.
//
// The interface has no acknowledgement of an ask. So Client.WaitIdle sends an ask that must be rejected
// and waits for the rejection: every earlier message is then processed.
//
// The audits share only the arithmetic of package resources with the scheduler: a mistake passes only
// if both make it.
package sim
