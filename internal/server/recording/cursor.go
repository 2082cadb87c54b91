package recording

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"
)

var errTorn = errors.New("a record ends early")

// cursor reads the records of a frame. When one cannot be read, failed says why, and what is read from then on is zero.
type cursor struct {
	b      []byte
	last   time.Time
	step   uint64 // number of the next step
	delta  askDelta
	failed error
}

func newCursor(payload []byte) (*cursor, error) {
	c := &cursor{b: payload}
	c.step, c.last = c.unsigned(), time.Unix(0, c.signed()).UTC()
	return c, c.failed
}

// next adds the next record to an item: those of a step make one together. done: the item is complete. Requires: there
// is a record left.
func (c *cursor) next(x *Item) (done bool, err error) {
	kind := c.byte()
	if (kind == answersRecord || kind == doneRecord) != (x.Step != nil) {
		return false, fmt.Errorf("record %d: it is in the wrong place", kind)
	}
	switch kind {
	case beginRecord:
		body := c.bytes()
		x.Begin = new(Begin)
		if c.failed == nil {
			c.failed = decode(body, x.Begin)
		}
		done = true
	case commandRecord, askRecord, releaseRecord, scheduleRecord:
		c.beginStep(kind, x)
	case answersRecord:
		x.Step.Answers = c.bytes()
	case doneRecord:
		c.endStep(x.Step)
		done = true
	case gapRecord:
		x.Gap = &Gap{c.unsigned(), c.text()}
		done = true
	case checkpointRecord:
		x.piece = &piece{Abilities(c.byte()), c.unsigned(), c.unsigned(), c.bytes()}
		done = true
	case markRecord:
		x.Mark = c.text()
		done = true
	default:
		return false, fmt.Errorf("there is no record %d in this version of Canopy", kind)
	}
	return done, c.failed
}

func (c *cursor) beginStep(kind byte, x *Item) {
	c.last = c.last.Add(time.Duration(c.signed()))
	s := &Step{Number: c.step, At: c.last}
	c.step++
	switch x.Step = s; kind {
	case scheduleRecord:
		budget := c.unsigned()
		if budget > math.MaxInt32 {
			c.failed = fmt.Errorf("a budget of %d decisions", budget)
		}
		s.Budget = int(budget)
	case askRecord:
		s.Command, c.failed = c.delta.readAsk(c)
	case releaseRecord:
		s.Command, c.failed = c.delta.readRelease(c)
	default:
		if body := c.bytes(); c.failed == nil {
			s.Command, c.failed = decodeCommand(body)
		}
	}
}

func (c *cursor) endStep(s *Step) {
	flags := c.byte()
	s.Done, s.More = true, flags&moreFlag != 0
	if flags&effectsFlag == 0 {
		return
	}
	s.Effects = int(min(c.unsigned(), maxItems))
	if len(c.b) < 8 {
		c.failed = errTorn
		return
	}
	s.Digest = binary.LittleEndian.Uint64(c.b)
	c.b = c.b[8:]
}

func (c *cursor) byte() byte {
	if len(c.b) == 0 {
		c.failed = errTorn
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
		c.failed, c.b = errTorn, nil
		return
	}
	c.b = c.b[size:]
}

// bytes are valid as long as the frame.
func (c *cursor) bytes() []byte {
	n := c.unsigned()
	if n > uint64(len(c.b)) {
		c.failed, c.b = errTorn, nil
		return nil
	}
	body := c.b[:n]
	c.b = c.b[n:]
	return body
}

func (c *cursor) text() string { return string(c.bytes()) }

// suffix reads what appendSuffix has appended.
func (c *cursor) suffix(before string) string {
	n := c.unsigned()
	if n > uint64(len(before)) {
		c.failed = errTorn
		return ""
	}
	return before[:n] + c.text()
}
