// Package priorities has the priority classes (PRI-25 to PRI-36) and the admission of asks by class (PRI-37 to PRI-46):
// which name has which priority, and whether asks of the class may preempt. Package configs reads classes from
// documents, package rmproxy admits asks; after that an ask has only its number.
//
// The invariant: the classes of every Registry are valid, their names are unique, at most one is the default, and
// the two system classes exist with their values.
package priorities
