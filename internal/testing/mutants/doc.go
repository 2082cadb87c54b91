// Package mutants plants faults in the code, one at a time, and finds out whether a test fails.
//
// It owns the list of faults (testdata/*.txt), their form, the tests that caught them last (caught.txt), which are run
// first, and how faults are found by function and tokens, and applied: to a copy, by the overlay of the go command,
// never to the files themselves. It leaves to the tests of each package what is right. The rule that must hold: every
// fault can be applied to the code as it is, so that a fault cannot be forgotten when code moves; and every fault is
// caught by a test ("make mutants").
package mutants
