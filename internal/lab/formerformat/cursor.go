package formerformat

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/recording"
)

// The records of a frame. The payload begins with the number of the first step and the time from which the first record
// counts; each record begins with its kind.
const (
	beginRecord      = 1  // a Begin
	commandRecord    = 2  // the time since the record before, and a command: a step begins
	scheduleRecord   = 3  // likewise, and the budget of a call of Schedule
	answersRecord    = 4  // the answers of the Oracle in the step
	doneRecord       = 5  // the step ends: its flags, and the number and the digest of its effects
	gapRecord        = 6  // steps before this frame that were not recorded, and why
	markRecord       = 7  // a text; endMark is that of a session that was closed
	askRecord        = 8  // likewise a step: an ask, as the difference to the ask before in the frame
	releaseRecord    = 9  // likewise
	checkpointRecord = 10 // a piece of a checkpoint: the Oracle, number of the piece and of all pieces, bytes

	moreFlag    = 1
	effectsFlag = 2

	endMark = "end"
)

var errTorn = errors.New("a record ends early")

// cursor reads the records of a frame. When one cannot be read, failed says why, and what is read from then on is zero.
type cursor struct {
	b      []byte
	last   time.Time
	step   uint64 // number of the next step
	delta  askDelta
	ended  bool
	failed error
}

func newCursor(payload []byte) (*cursor, error) {
	c := &cursor{b: payload}
	c.step, c.last = c.unsigned(), time.Unix(0, c.signed()).UTC()
	return c, c.failed
}

// next returns the next item. Requires: there is a record left.
func (c *cursor) next() (x item) {
	switch kind := c.byte(); kind {
	case beginRecord:
		x.begin = c.begin()
	case commandRecord, askRecord, releaseRecord, scheduleRecord:
		x.step = c.beginStep(kind)
		c.endStep(x.step)
	case gapRecord:
		n, why := c.unsigned(), c.text()
		c.fail(fmt.Errorf("%d steps: %s", n, why))
	case checkpointRecord:
		_, _, _, _ = c.byte(), c.unsigned(), c.unsigned(), c.bytes()
		x.other = true
	case markRecord:
		c.ended, x.other = c.text() == endMark, true
	default:
		c.fail(fmt.Errorf("record %d is not known here", kind))
	}
	if c.failed != nil {
		return item{err: c.failed}
	}
	return x
}

func (c *cursor) fail(err error) {
	if c.failed == nil {
		c.failed = err
	}
	c.b = nil
}

func (c *cursor) beginStep(kind byte) *recording.Step {
	c.last = c.last.Add(time.Duration(c.signed()))
	s := &recording.Step{Number: c.step, At: c.last}
	c.step++
	switch kind {
	case scheduleRecord:
		s.Budget = int(min(c.unsigned(), math.MaxInt32))
	case askRecord:
		s.Command = c.delta.readAsk(c)
	case releaseRecord:
		s.Command = c.delta.readRelease(c)
	default:
		s.Command = c.command()
	}
	return s
}

// endStep reads the answers and the result of a step, as far as there are any.
func (c *cursor) endStep(s *recording.Step) {
	if len(c.b) > 0 && c.b[0] == answersRecord {
		c.byte()
		s.Answers = append(s.Answers, c.bytes()...)
	}
	if len(c.b) == 0 || c.b[0] != doneRecord {
		return // the recording ends in it
	}
	c.byte()
	flags := c.byte()
	s.Done, s.More = true, flags&moreFlag != 0
	if flags&effectsFlag == 0 {
		return
	}
	s.Effects = int(min(c.unsigned(), math.MaxInt32))
	if len(c.b) < 8 {
		c.fail(errTorn)
		return
	}
	s.Digest = binary.LittleEndian.Uint64(c.b)
	c.b = c.b[8:]
}

func (c *cursor) byte() byte {
	if len(c.b) == 0 {
		c.fail(errTorn)
		return 0
	}
	first := c.b[0]
	c.b = c.b[1:]
	return first
}

func (c *cursor) unsigned() uint64 {
	n, size := binary.Uvarint(c.b)
	c.skip(size)
	return n
}

func (c *cursor) signed() int64 {
	n, size := binary.Varint(c.b)
	c.skip(size)
	return n
}

// skip ends a number with some bytes; if there are none, it is no number.
func (c *cursor) skip(size int) {
	if size <= 0 {
		c.fail(errTorn)
		return
	}
	c.b = c.b[size:]
}

// bytes are valid as long as the frame.
func (c *cursor) bytes() []byte {
	n := c.unsigned()
	if n > uint64(len(c.b)) {
		c.fail(errTorn)
		return nil
	}
	body := c.b[:n]
	c.b = c.b[n:]
	return body
}

func (c *cursor) text() string { return string(c.bytes()) }

// suffix reads how many bytes a text has in common with the one before, and the rest.
func (c *cursor) suffix(before string) string {
	n := c.unsigned()
	if n > uint64(len(before)) {
		c.fail(errTorn)
		return ""
	}
	return before[:n] + c.text()
}
