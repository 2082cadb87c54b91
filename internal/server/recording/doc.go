// Package recording owns the format of a recording: what a scheduler.Core was made with, each command and each call of
// Schedule with its time, the answers of the Oracle, and a digest of the effects, in files that are only appended to
// (docs/RECORDING.md, ADR 79).
//
// It leaves to others when a Core is called (package loop), and what a replay is compared with (package
// recording/playback).
//
// The rule that must hold: Recorder never blocks its caller and never changes a command. What could not be written is a
// Gap, and never silently missing.
package recording
