// Package victim selects the victims whose release makes a pending ask feasible.
//
// It owns the preemption reasons, the eligibility checks for victims, the victim order, the choice of the node, and
// the victims of an enforced max (ForQuota) and of node pressure (ForNodePressure). It reads the state of a
// partition and changes nothing: when an ask is evaluated, and what is done with a Plan, is left to package
// preemption, and marks and nominations to package objects.
//
// The invariant: every Plan is proved. When its victims have ended, the ask fits the node, every quota and every
// limit, and it would not fit if one of the victims stayed (PRE-39, PRE-59). The rules are in
// docs/behaviour/preemption.md.
package victim
