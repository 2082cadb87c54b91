// Package preemption finds out who has to leave so that a pending ask finds room.
//
// It owns the rights to take somebody's place, who may be taken by each, the order in which
// they are taken, and the choice among nodes. It reads the books of a partition and changes
// nothing: telling victims to leave, and remembering that they were told, is for package
// objects; when to look, and whom to tell, is for package scheduler. Churn knows no partition:
// it watches what it is told of for room that goes round.
//
// The rule that must hold: nothing is taken in vain. A Plan was proved to make room for its
// ask on its node within every quota, and without any one of its victims it would not.
package preemption
