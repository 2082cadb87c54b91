package recording

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// The records of a session, one after the other in its frames. Each is a list that begins with its kind.
const (
	beginRecord    = 0 // a Begin: the first record
	commandRecord  = 1 // a step: the time since the step before, the number of a command, its fields
	scheduleRecord = 2 // a step: the time since the step before, the budget of a call of Schedule
	// of the step before: number and digest of its effects, whether there is more, answers of the Oracle
	resultRecord = 3
	endRecord    = 4 // why the session ends, whether in its last step, answers of the Oracle in that
)

// A step that has neither effects nor answers, and after which nothing is left to decide, has no result.

// Step is a command, or a call of Schedule.
type Step struct {
	Number  uint64            // of the session, from 0
	At      time.Time         // the time that the Core was called with, in UTC
	Command scheduler.Command // nil: a call of Schedule
	Budget  int               // of Schedule
	Answers []byte            // of the Oracle, as Answers reads them

	Done    bool // false: the recording ends in the step, or the Core has panicked in it
	More    bool // as Schedule returned it
	Effects int
	Digest  uint64 // of the effects and of the questions to the Oracle; see Digester
}

// epoch is the time from which that of the first step counts.
var epoch = time.Unix(0, 0)

func appendBegin(b []byte, begin *Begin) []byte {
	v := reflect.ValueOf(begin).Elem()
	return codecs[v.Type()].append(append(b, majorArray|2, beginRecord), v)
}

// appendStep appends a command, or for nil a call of Schedule.
func appendStep(b []byte, after time.Duration, cmd scheduler.Command, budget int) []byte {
	if cmd == nil {
		return appendInt(appendInt(append(b, majorArray|3, scheduleRecord), int64(after)), int64(budget))
	}
	return appendCommand(appendInt(append(b, majorArray|4, commandRecord), int64(after)), cmd)
}

func appendResult(b []byte, effects int, digest uint64, more bool, answers []byte) []byte {
	if effects == 0 && digest == 0 && !more && len(answers) == 0 {
		return b
	}
	b = appendHead(append(b, majorArray|5, resultRecord), majorUnsigned, uint64(effects))
	return appendString(appendBool(appendHead(b, majorUnsigned, digest), more), answers)
}

// appendEnd appends the end of a session. reason is empty when the scheduler has ended.
func appendEnd(b []byte, reason string, inStep bool, answers []byte) []byte {
	return appendString(appendBool(appendString(append(b, majorArray|4, endRecord), reason), inStep), answers)
}

// record is a decoded record: its kind, and the parts of it.
type record []any

// has reports whether a record has a kind and a number of parts.
func (r record) has(kind uint64, parts int) bool { return len(r) == 1+parts && r[0] == kind }

// step returns the step of a record with its time since the one before.
func (r record) step() (s *Step, after time.Duration, err error) {
	n, ok := integer(r[1])
	s = &Step{}
	if r[0] == uint64(commandRecord) {
		s.Command, err = commandOf(r[2], r[3])
	} else {
		s.Budget, ok = count(r[2])
	}
	if !ok {
		err = errForm
	}
	return s, time.Duration(n), err
}

// result sets the result of a step.
func (r record) result(s *Step) error {
	effects, ok1 := count(r[1])
	digest, ok2 := r[2].(uint64)
	more, ok3 := r[3].(bool)
	answers, ok4 := r[4].(string)
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return errForm
	}
	s.Effects, s.Digest, s.More, s.Answers, s.Done = effects, digest, more, []byte(answers), true
	return nil
}

var errForm = errors.New("a record has another form")

// count returns a number that is not negative, and fits into 32 bits.
func count(x any) (n int, ok bool) {
	u, ok := x.(uint64)
	return int(u), ok && u <= math.MaxInt32
}

// String returns what the Core was called with as text on one line: the name of a command and its fields as JSON, or
// schedule and the budget.
func (s *Step) String() string {
	if s.Command == nil {
		return fmt.Sprintf("%s %d", CommandName(nil), s.Budget)
	}
	name, fields, _ := CommandText(s.Command)
	return name + " " + string(fields)
}
