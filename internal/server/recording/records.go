package recording

import (
	"encoding/binary"
	"reflect"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// The records of a frame. The payload begins with the number of the first step and the time from which the first record
// counts; each record begins with its kind.
const (
	beginRecord    = 1 // a Begin
	commandRecord  = 2 // the time since the record before, and a command: a step begins
	scheduleRecord = 3 // likewise, and the budget of a call of Schedule
	answersRecord  = 4 // the answers of the Oracle in the step
	doneRecord     = 5 // the step ends: its flags, and the number and the digest of its effects
	gapRecord      = 6 // steps before this frame that were not recorded, and why
	markRecord     = 7 // a text
	askRecord      = 8 // likewise a step: an ask, as the difference to the ask before in the frame
	releaseRecord  = 9 // likewise

	checkpointRecord = 10 // a piece of a Checkpoint: the Oracle, number of the piece and of all pieces, bytes
)

const (
	moreFlag    = 1 << iota // Schedule has returned more
	effectsFlag             // there are effects or answers, and so a digest
)

// EndMark is the Mark at the end of a session that was closed.
const EndMark = "end"

// Step is a command, or a call of Schedule.
type Step struct {
	Number  uint64            // of the session, from 0
	At      time.Time         // the time that the Core was called with, in UTC
	Command scheduler.Command // nil: a call of Schedule
	Budget  int               // of Schedule
	Answers []byte            // of the Oracle, as NewAnswers reads them

	Done    bool // false: the recording ends in the step, or the Core has panicked in it
	More    bool // as Schedule returned it
	Effects int
	Digest  uint64 // of the effects and of the questions to the Oracle; see Digest
}

// Gap are steps that the recording does not have.
type Gap struct {
	Steps  uint64 `json:"steps"` // how many; 0: not known
	Reason string `json:"reason"`
}

// Item is an entry of a recording: one of its fields is set.
type Item struct {
	Begin      *Begin
	Step       *Step
	Gap        *Gap
	Checkpoint *Checkpoint
	Mark       string

	piece *piece // of a Checkpoint
}

func appendBegin(b []byte, begin *Begin) []byte {
	body := appendValue(nil, reflect.ValueOf(begin).Elem())
	return append(binary.AppendUvarint(append(b, beginRecord), uint64(len(body))), body...)
}

func appendGap(b []byte, g Gap) []byte {
	return appendText(binary.AppendUvarint(append(b, gapRecord), g.Steps), g.Reason)
}

func appendMark(b []byte, text string) []byte { return appendText(append(b, markRecord), text) }

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

func appendDone(b []byte, effects int, digest uint64, more bool) []byte {
	var flags byte
	if more {
		flags |= moreFlag
	}
	if effects == 0 && digest == 0 {
		return append(b, doneRecord, flags)
	}
	b = binary.AppendUvarint(append(b, doneRecord, flags|effectsFlag), uint64(effects))
	return binary.LittleEndian.AppendUint64(b, digest)
}
