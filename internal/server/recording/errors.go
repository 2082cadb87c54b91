package recording

import "errors"

var (
	// ErrNoSegment: a file is not a segment of a recording, or ends before its first frame.
	ErrNoSegment = errors.New("it is no segment of a recording")
	// ErrVersion: a segment has the format of another version of Canopy.
	ErrVersion = errors.New("the format of the recording is not that of this version of Canopy")
	// ErrNoRecording: a directory has no segments.
	ErrNoRecording = errors.New("there is no recording")
)
