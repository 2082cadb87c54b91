// Package sim is a resource manager that does not manage anything: it talks to a
// scheduler over the published gRPC interface as a shim would, and its machines and
// tasks exist only as numbers. Client is the conversation; Workload and Trace are what
// it has to say; Audit checks what came of it.
//
// The interface does not say when an ask was taken, so Client.WaitIdle asks for something
// impossible and waits for the refusal: whatever was sent before it has then been
// taken.
//
// The rule that must hold: the audits share nothing with the scheduler but the
// arithmetic of package resources, so both would have to be wrong to agree on a mistake.
package sim
