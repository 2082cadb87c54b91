//go:build race

package main

// raceDetector is whether the tests, and the programs that they start, have the race detector, with
// which memory costs several times as much.
const raceDetector = true
