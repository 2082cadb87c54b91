// Package recording owns the format of a recording: what a scheduler.Core was made with, each command and each call of
// Schedule with its time, the answers of the Oracle, and a digest of the effects, in files that are only appended to
// (docs/RECORDING.md, ADR 85).
//
// It leaves to others when a Core is called (package loop), what a replay is compared with (package
// playback), and formats before this one (package formerformat).
//
// The rule that must hold: Recorder never blocks its caller and never changes a command. A session has all steps from
// its begin on, without a gap; if one cannot be recorded, the session ends, and says why.
package recording
