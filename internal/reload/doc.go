// Package reload owns which configuration is in force, who wanted it, and what was in
// force before.
//
// Whatever its source, a text goes the same way: Read finds everything that is wrong with
// it, Enact has the partitions change together or not at all, and what was accepted
// becomes a Generation with a number of its own. How partitions change is for package
// loop; who may ask is for the doors.
//
// Sources and precedence. Whoever speaks last is heard, if it says something new:
//
//   - With a file, the text of a resource manager is ignored. Its extra configuration is not.
//   - A resource manager that repeats what it said before, such as when it registers
//     anew, changes nothing. So a roll-back outlives its next registration.
//   - A text of a resource manager that has no priority classes keeps those in force.
//   - The start of the program with a file, SIGHUP, a POST and a roll-back are acts of
//     somebody: they are heard also when they repeat themselves.
//
// The rule that must hold: text, extra configuration and number change together, and
// nothing of what was refused is ever seen.
package reload
