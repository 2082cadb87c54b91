// Package preemption selects the victims whose release makes a pending ask feasible.
//
// It holds the preemption reasons, the eligibility checks for victims, the victim order, the choice of the node,
// and the selection of victims for an enforced max (QuotaVictims) and for node pressure (NodePressureVictims). It
// reads the state of a partition and changes nothing: package objects marks victims as preempting and nominates
// asks, package scheduler decides when an ask is evaluated and releases the victims. CycleDetector reads no
// partition: it counts the preemptions that are recorded with it.
//
// The invariant: every Plan is proved. When its victims have ended, the ask fits the node, every quota and every
// limit, and it would not fit if one of the victims stayed (PRE-39, PRE-59). The rules are in
// docs/behaviour/preemption.md.
package preemption
