// Package reservation decides which asks reserve a node.
//
// An ask that fits no node reserves one that it would fit without the allocations there, so that smaller asks do not
// take freed resources before there are enough. Engine decides, for one partition, when to search for such asks, and
// remembers which asks the resource manager has refused. The reservations themselves and the resources that are held
// are in package objects; effects are left to package scheduler, which an Engine knows as Host.
//
// The rule: an Engine searches when nothing can be placed and nothing preempts, once a second at most. So decisions are
// not slower as long as there are no reservations.
package reservation
