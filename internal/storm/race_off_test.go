//go:build !race

package storm

// raceDetector reports whether the test binary watches for races, which makes every
// storm several times slower.
const raceDetector = false
