// Package resources is the arithmetic of scheduling: what is used (Amounts), what
// may be used (Limit), what is promised (Guarantee) and how much of a share is
// taken (Share).
//
// The questions have different types because "not mentioned" means different
// things in them: zero in Amounts, unlimited in a Limit, no promise in a
// Guarantee. No function takes a flag to choose between the meanings.
//
// These types name their resources, and are for doors, settings and tests. The
// books of a partition keep the same numbers densely: Names gives every resource
// name of the partition a small number, and Vector, Bound and Denominators are
// what Amounts, Limit and shares become on the decision path.
//
// The rule that must hold: arithmetic saturates, it never wraps around.
package resources
