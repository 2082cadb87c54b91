//go:build !race

package twin

// raceDetector reports whether the test binary watches for races, which makes every
// story several times slower.
const raceDetector = false
