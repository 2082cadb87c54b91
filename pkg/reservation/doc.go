// Package reservation decides which asks reserve a node.
//
// An ask that fits no node reserves one that it would fit without the allocations there, so that smaller asks do not
// take what becomes free before there is enough. Engine owns, for one partition, when that is examined and which asks
// the resource manager has refused. The reservations themselves and the resources that are held are in package objects;
// effects are left to package scheduler, which an Engine knows as Host.
//
// The rule: an Engine searches when nothing can be placed and nothing preempts, once a second at most. So a decision
// does not become slower by reservations that there are not.
package reservation
