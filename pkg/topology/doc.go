// Package topology keeps what is free in topology domains: the nodes of a partition by the values of some labels, the
// coarsest label first, and for each domain the sum of what its nodes have free.
//
// It owns the tree of domains and the sums. Which nodes there are, what they have free, and where anything is placed,
// is left to others.
//
// The rule that must hold: after each change of a node that a Tree was notified of, its domains and sums are those of a
// count from scratch.
package topology
