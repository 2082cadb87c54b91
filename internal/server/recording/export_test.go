package recording

import "github.com/canopy-scheduler/canopy/pkg/scheduler"

// Flush has what waits written now.
func (r *Recorder) Flush() { r.flush() }

// SetCheckpoints sets how a state is encoded, and how long the pieces of a checkpoint are.
func (r *Recorder) SetCheckpoints(encode func(*scheduler.Core, scheduler.Oracle) ([]byte, error), piece int) {
	r.checkpoints.encode, r.checkpoints.piece = encode, piece
}

// UsableState reports whether a state was written by a program with the same types.
func UsableState(data []byte) bool { return usableState(data) }
