// Package lint keeps the house rules that no compiler knows: which package may
// import which, what the pure core must not contain, how long a file may get, what
// needs a comment, and which words do not belong in the repository.
//
// The rules are ordinary tests; there is nothing here to import. Each is a function
// from a source file to the problems in it, so that each is also shown a snippet
// that breaks it. The rule that must hold: a test that looked at nothing fails.
package lint
