// Package testscale sets the number of random runs of tests. It is the only reader of the environment
// variable CANOPY_TESTS:
//
//	quick    for "go test" and "make test": a tenth of the runs; the default
//	full     for "make check", and with it CI
//	nightly  for "make nightly": three times the runs of full
//
// A test states its number of runs in full. Only tests import this package.
package testscale

import (
	"fmt"
	"os"
)

// variable is the environment variable with the scale.
const variable = "CANOPY_TESTS"

// The scales.
const (
	scaleQuick   = "quick"
	scaleFull    = "full"
	scaleNightly = "nightly"
)

// Factors between the numbers of runs.
const (
	quickShare    = 10 // quick makes 1/quickShare of the runs of full
	nightlyFactor = 3  // nightly makes nightlyFactor times the runs of full
	raceShare     = 5  // with the race detector a run is several times slower: 1/raceShare of the runs
)

// Runs returns the number of random runs of a test that makes n in full, at least 1. With the race detector
// it is at most a fifth of n, or of three times n in a nightly run. Another value of CANOPY_TESTS is a
// panic.
func Runs(n int) int { return runs(scale(), RaceDetector, n) }

// Full reports whether CANOPY_TESTS is full or nightly. A quick run omits tests that take seconds and
// are similar to others.
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
