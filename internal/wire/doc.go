// Package wire decodes and encodes the messages of the scheduler interface that come with every
// ask, between the protobuf wire format and the types of the core: AllocationRequest in,
// AllocationResponse out. All other messages are rare, and use the generated code. Package
// rmproxy validates and interprets the content.
//
// Invariant: bytes mean the same as to the generated code: it refuses, skips, overwrites and
// merges the same fields (ADR 15).
package wire
