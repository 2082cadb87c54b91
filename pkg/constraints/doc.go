// Package constraints decides which nodes an ask admits, and which of these it prefers, by what the ask and the node
// say of themselves: node selector, node affinity, taints and tolerations. Syntax and semantics are those of
// Kubernetes, in JSON.
//
// It owns the parsing of tags and attributes, and the matching of one ask with one node. Everything else that decides
// about a node (free resources, draining, a required node, the predicates of the RM) is left to others, and so is how
// often a match is computed.
//
// The rule that must hold: a parsed constraint and a parsed node never change, and two asks with equal keys admit and
// prefer the same nodes. What cannot be parsed is refused with a reason; nothing is ignored.
package constraints
