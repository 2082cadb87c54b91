//go:build race

package testscale

// raceDetector reports whether the test binary was built with the race detector.
const raceDetector = true
