// Package priorities is the registry of priority classes: which name stands for which
// number, and whether work of the class may have victims. Where classes are written down
// is for package configs, and which class an ask names for the door; behind the door
// there is only the number.
//
// The rule that must hold: whatever way a Registry was made, its classes are valid, its
// names unique, at most one class is the default, and the system's own two are in it with
// their values.
package priorities
