// Package affinity decides which nodes other allocations leave to an ask, and which of these it prefers because of
// them: pod affinity and anti-affinity, topology spread and host ports. Syntax and semantics are those of Kubernetes,
// in JSON.
//
// It owns the parsing of tags, and a Tracker that counts the allocations that constraints select, by topology domain.
// So a check of one node reads a few counts, however many nodes and allocations there are. Which nodes are checked, in
// which order, and what a refusal means for an ask, is left to others.
//
// The rule that must hold: after each change that a Tracker was notified of, its counts are those of a count from
// scratch. A parsed Ask never changes, and asks with equal keys are refused by the same nodes and prefer the same
// nodes.
package affinity
