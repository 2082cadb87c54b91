package recording

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
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
	Begin *Begin
	Step  *Step
	Gap   *Gap
	Mark  string
}

func appendBegin(b []byte, begin *Begin) []byte {
	body := appendValue(nil, reflect.ValueOf(begin).Elem())
	return append(binary.AppendUvarint(append(b, beginRecord), uint64(len(body))), body...)
}

func appendGap(b []byte, g Gap) []byte {
	return appendText(binary.AppendUvarint(append(b, gapRecord), g.Steps), g.Reason)
}

func appEndMark(b []byte, text string) []byte { return appendText(append(b, markRecord), text) }

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

var errTorn = errors.New("a record ends early")

// cursor reads the records of a frame.
type cursor struct {
	b    []byte
	last time.Time
	step uint64 // number of the next step
}

func newCursor(payload []byte) (*cursor, error) {
	c := &cursor{b: payload}
	first, err := c.uvarint()
	if err != nil {
		return nil, err
	}
	base, err := c.varint()
	c.step, c.last = first, time.Unix(0, base).UTC()
	return c, err
}

// next adds the next record to an item: those of a step make one together. done: the item is complete. Requires: there
// is a record left.
func (c *cursor) next(x *Item) (done bool, err error) {
	kind := c.b[0]
	if (kind == answersRecord || kind == doneRecord) != (x.Step != nil) {
		return false, fmt.Errorf("record %d: it is in the wrong place", kind)
	}
	switch c.b = c.b[1:]; kind {
	case beginRecord:
		body, err := c.bytes()
		if err != nil {
			return false, err
		}
		x.Begin = new(Begin)
		return true, decode(body, x.Begin)
	case commandRecord, scheduleRecord:
		return false, c.beginStep(kind, x)
	case answersRecord:
		x.Step.Answers, err = c.bytes()
		return false, err
	case doneRecord:
		return true, c.endStep(x.Step)
	case gapRecord:
		x.Gap = new(Gap)
		if x.Gap.Steps, err = c.uvarint(); err != nil {
			return false, err
		}
		reason, err := c.bytes()
		x.Gap.Reason = string(reason)
		return true, err
	case markRecord:
		text, err := c.bytes()
		x.Mark = string(text)
		return true, err
	}
	return false, fmt.Errorf("there is no record %d in this version of Canopy", kind)
}

func (c *cursor) beginStep(kind byte, x *Item) error {
	after, err := c.varint()
	if err != nil {
		return err
	}
	c.last = c.last.Add(time.Duration(after))
	s := &Step{Number: c.step, At: c.last}
	c.step++
	x.Step = s
	if kind == scheduleRecord {
		budget, err := c.uvarint()
		if budget > math.MaxInt32 {
			return fmt.Errorf("a budget of %d decisions", budget)
		}
		s.Budget = int(budget)
		return err
	}
	body, err := c.bytes()
	if err != nil {
		return err
	}
	s.Command, err = decodeCommand(body)
	return err
}

func (c *cursor) endStep(s *Step) error {
	if len(c.b) == 0 {
		return errTorn
	}
	flags := c.b[0]
	c.b = c.b[1:]
	s.Done, s.More = true, flags&moreFlag != 0
	if flags&effectsFlag == 0 {
		return nil
	}
	n, err := c.uvarint()
	if err != nil || n > maxItems || len(c.b) < 8 {
		return errTorn
	}
	s.Effects, s.Digest = int(n), binary.LittleEndian.Uint64(c.b)
	c.b = c.b[8:]
	return nil
}

func (c *cursor) uvarint() (uint64, error) {
	n, size := binary.Uvarint(c.b)
	if size <= 0 {
		return 0, errTorn
	}
	c.b = c.b[size:]
	return n, nil
}

func (c *cursor) varint() (int64, error) {
	n, size := binary.Varint(c.b)
	if size <= 0 {
		return 0, errTorn
	}
	c.b = c.b[size:]
	return n, nil
}

func (c *cursor) bytes() ([]byte, error) {
	n, err := c.uvarint()
	if err != nil || n > uint64(len(c.b)) {
		return nil, errTorn
	}
	body := c.b[:n]
	c.b = c.b[n:]
	return body, nil
}
