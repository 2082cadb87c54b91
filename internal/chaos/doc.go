// Package storm tells the Core of a resource manager that confirms preemptions late, twice, in
// the wrong order, under other names or never, while nodes, applications and the configuration
// change under the preemptions. Then the faults stop, and everything must come to rest. It owns
// no code: its tests are the package.
//
// It leaves to the twin (package internal/twin) whether the right ones are told to leave. What
// must hold here holds whoever is told: see invariants_test.go.
//
// The rule that must hold: the manager keeps books of its own, from what it said and heard, and
// never asks those of the Core to find out what it should believe.
package chaos
