// Package wire decodes and encodes the messages of the scheduler interface that come with every
// ask, between the protobuf wire format and the types of the core: AllocationRequest in,
// AllocationResponse out. All other messages are rare, and use the generated code. Package
// rmproxy validates and interprets the content.
//
// Asks, releases and nodes of the scheduler interfaces 1.0 to 1.5 are in the files legacy_*.go (ADR 58).
//
// Invariant: bytes mean the same as to the generated code, that of any version of the interface: it
// refuses, skips, overwrites and merges the same fields (ADR 15).
package wire
