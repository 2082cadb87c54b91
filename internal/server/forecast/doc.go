// Package forecast says when a pending ask is expected to start: from the age of what runs, and from how long
// allocations have run before.
//
// It owns the copy of a partition, the runs of its scheduler on virtual time, what is made of their results, and the
// calibration: how right earlier answers were. Durations are learnt by package durations; why an ask waits is explained
// elsewhere. A forecast works on a snapshot and never touches the partition.
//
// The rule that must hold: the same snapshot, configuration and durations give the same answer, and what it costs is
// bounded.
package forecast
