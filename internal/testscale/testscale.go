// Package testscale says how much a test with random runs does. It is the only place that
// reads the environment variable CANOPY_TESTS:
//
//	quick    what "go test" and "make test" do: a tenth of the runs; the default
//	full     what "make check" does, and with it CI
//	nightly  what "make nightly" does: ten times the runs of full
//
// A test says how many runs it makes in full. Only tests import this package.
package testscale

import (
	"fmt"
	"os"
)

// variable is the environment variable that names the scale.
const variable = "CANOPY_TESTS"

// The scales.
const (
	scaleQuick   = "quick"
	scaleFull    = "full"
	scaleNightly = "nightly"
)

// The factors between the numbers of runs.
const (
	quickShare    = 10 // quick makes one of so many runs of full
	nightlyFactor = 10 // nightly makes so many times the runs of full
	raceShare     = 5  // the race detector makes a run several times slower: one of so many
)

// Runs is how many random runs a test makes that makes n in full, at least 1. Under the race
// detector it is never more than a fifth of n, or of ten times n in a nightly run. A value of
// CANOPY_TESTS that is none of the three is a panic: the run would not test what it was told to.
func Runs(n int) int { return runs(scale(), RaceDetector, n) }

// Full reports whether everything is to be tested: CANOPY_TESTS is full or nightly. A quick
// run leaves out what takes seconds and is implied by, or nearly the same as, what it runs.
func Full() bool { return scale() != scaleQuick }

func scale() string {
	switch s := os.Getenv(variable); s {
	case "":
		return scaleQuick
	case scaleQuick, scaleFull, scaleNightly:
		return s
	default:
		panic(fmt.Sprintf("%s is %s, %s or %s, not %q", variable, scaleQuick, scaleFull, scaleNightly, s))
	}
}

func runs(scale string, race bool, n int) int {
	switch scale {
	case scaleQuick:
		return max(1, n/quickShare)
	case scaleNightly:
		n *= nightlyFactor
	}
	if race {
		n /= raceShare
	}
	return max(1, n)
}
