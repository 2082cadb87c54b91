//go:build race

package testscale

// RaceDetector reports whether the test binary was built with the race detector.
const RaceDetector = true
