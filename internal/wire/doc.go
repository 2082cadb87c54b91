// Package wire reads and writes the messages that come and go with every ask, in the
// wire format of the scheduler interface, straight from and into what the core speaks:
// AllocationRequest in, AllocationResponse out. All other messages are rare, and have
// their generated code. What a message means, and what in it is refused, is for the
// door to say.
//
// The rule that must hold: bytes mean here what they mean to the generated code. What
// it refuses is refused, what it skips is skipped, and what it lets a later field
// overwrite or add to is overwritten or added to (ADR 15).
package wire
