// Package playback makes the decisions of a recording again, and compares the effects.
//
// It owns what a replay begins with, what it compares and how it says a difference. The format of recordings is that of
// package recording.
//
// The rule that must hold: a replay without a difference made the same effects, one by one, as the recorded scheduler;
// what could not be compared is counted, and never taken for equal.
package playback
