// Package whatif runs the commands of a recording against another configuration or another cluster, on virtual time,
// and compares what came of it with what was recorded.
//
// It owns the scenario, what a resource manager would have done at another time (how long allocations run, when victims
// are confirmed), and the comparison. What was recorded is read by package recording, and made again by
// playback, in step with the changed run.
//
// The rule that must hold: a scenario that changes nothing makes the same effects at the same times as the recording.
// So nothing is assumed where the recording knows.
package whatif
