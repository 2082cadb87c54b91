// Package resources has the arithmetic of resources: quantities (Amounts), a max (Limit), a guarantee (Guarantee)
// and fair shares (Share).
//
// They are different types because a missing name means something else in each: zero in Amounts, unlimited in a
// Limit, not guaranteed in a Guarantee. No function has a flag for the meaning.
//
// These types name their resources; APIs, configuration and tests use them. The state of a partition has the same
// numbers without names: NameTable gives every resource name of the partition an index, and Vector, LimitVector
// and Denominators are what Amounts, Limit and shares become in scheduling decisions.
//
// The invariant: arithmetic saturates, it never wraps around.
package resources
