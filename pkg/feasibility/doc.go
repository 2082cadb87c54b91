// Package feasibility answers which asks fit where, for all pending asks at once.
//
// It owns shapes (the resources and the required node that asks have in common), the table that
// assigns a slot to each, masks (sets of shapes, by slot), indexes that keep items in order and find the
// first one whose mask has a sought shape, and the record of nodes with freed resources. What an item is
// (a node, a queue, an application), which shapes fit it, and the order of items belong to the caller; the
// package knows no queue, no quota, no configuration and no preemption.
//
// Invariant: after AddResources, the masks that DropExceeding leaves have every shape that fits, and no
// other one that has a slot of its own (ORD-10, ORD-11; ADR 14).
package feasibility
