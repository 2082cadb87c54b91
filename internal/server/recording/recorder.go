package recording

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// closeTimeout bounds the time for which Recorder.Close waits for a disk.
const closeTimeout = 2 * time.Second

// ErrBufferFull says that a session has ended because the disk is too slow.
var ErrBufferFull = errors.New("the disk is slower than the scheduler, and the buffer was full")

// Recorder records the steps of one Core, in sessions: one begins with the Core, and one with each ResetPartition. Its
// methods, but for Close, are called by the goroutine that owns the Core, and never block. What cannot be recorded ends
// the session (REC-6).
type Recorder struct {
	core      *scheduler.Core
	partition string
	opt       objects.Options
	canopy    string
	buffer    int // bytes that may wait
	store     *Store
	oracle    *listeningOracle // nil: the Core has no Oracle
	has       Abilities
	digest    Digester
	now       func() time.Time // for the names of files
	after     func(time.Duration) <-chan time.Time

	mu      sync.Mutex // guards the fields below
	open    frame      // the last frame, which is not complete; without data there is none
	full    []frame    // complete ones
	waiting int        // bytes in open and full
	session int        // number of the session in this Recorder
	ended   error      // why the session has ended; nil: its steps are recorded
	last    time.Time  // of the last step
	inStep  bool       // the result of the last step is to come
	closed  bool

	wake    chan struct{} // holds a value when the writer may have something to do
	written chan struct{} // closed when the writer has ended
}

// frame has the records of a frame.
type frame struct {
	data    []byte
	session int
	began   int64 // when it begins a session, in nanoseconds since 1970; 0: it does not
	steps   bool  // it has a step
	ends    error // why it is the last frame of the session; nil: it may not be
}

// errClosed says that a session ends in good order.
var errClosed = errors.New("")

// Begin records what the Core was made with. It is called before the first step, and after Oracle.
func (r *Recorder) Begin() { r.begin(false, time.Time{}) }

// begin begins a session. restart: with the command at now, which resets the partition.
func (r *Recorder) begin(restart bool, now time.Time) {
	b := &Begin{Canopy: r.canopy, Options: r.opt, Partition: r.core.Partition().Config(), Oracle: r.has, Restart: restart}
	if restart {
		b.Operators, b.NotListening, b.Draining = r.core.OperatorState(), !r.core.Listening(), r.core.Draining()
		b.Starts, b.Usage = r.core.RunStarts(), r.core.UsageOverTime(now)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end(errClosed, nil)
	if r.closed {
		return
	}
	r.session++
	r.ended, r.last = nil, epoch
	r.store.state(r.partition, 0, nil)
	r.startFrame()
	r.open.began = r.now().UnixNano()
	r.append(appendBegin(r.open.data, b))
}

// end ends the session, with a reason unless it is errClosed. The caller must hold mu.
func (r *Recorder) end(why error, answers []byte) {
	if r.session == 0 || r.ended != nil {
		return
	}
	if r.open.data == nil {
		r.startFrame()
	}
	r.grow(appendEnd(r.open.data, why.Error(), r.inStep, answers))
	r.open.ends, r.ended, r.inStep = why, why, false
	if why != errClosed {
		r.store.state(r.partition, 0, why)
	}
	r.seal()
}

// fail ends a session whose last frames could not be written.
func (r *Recorder) fail(session int, why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if session == r.session {
		r.waiting -= len(r.open.data)
		r.ended, r.open = why, frame{}
		r.store.state(r.partition, 0, why)
	}
}

// Oracle returns an Oracle for the Core that answers what o answers. A Core that gets another one is reset by its next
// command.
func (r *Recorder) Oracle(o *objects.Oracle) *objects.Oracle {
	r.has = abilitiesOf(o)
	r.oracle = &listeningOracle{to: o}
	return withAbilities(r.oracle.oracle(), r.has)
}

// Command records a command that is applied next. ResetPartition begins a session.
func (r *Recorder) Command(now time.Time, cmd scheduler.Command) {
	if _, resets := cmd.(scheduler.ResetPartition); resets {
		r.begin(true, now)
	}
	r.step(now, cmd, 0)
}

// Schedule records a call of Schedule that comes next.
func (r *Recorder) Schedule(now time.Time, budget int) { r.step(now, nil, budget) }

func (r *Recorder) step(now time.Time, cmd scheduler.Command, budget int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended == nil && r.waiting >= r.buffer {
		r.end(ErrBufferFull, nil)
	}
	if r.ended != nil {
		r.store.state(r.partition, 1, r.ended)
		return
	}
	if r.oracle != nil {
		r.oracle.begin()
	}
	if len(r.open.data) >= frameBytes {
		r.seal()
	}
	if r.open.data == nil {
		r.startFrame()
	}
	r.open.steps, r.inStep = true, true
	r.append(appendStep(r.open.data, now.Sub(r.last), cmd, budget))
	r.last = now
}

// Effects records the result of the command or the call that was recorded last. It does not keep effects.
func (r *Recorder) Effects(effects []scheduler.Effect, more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	questions, answers := r.oracle.heard()
	if r.ended != nil {
		return
	}
	digest := r.digest.Digest(effects, questions)
	if r.open.data == nil { // it was sealed since
		r.startFrame()
	}
	r.inStep = false
	r.append(appendResult(r.open.data, len(effects), digest, more, answers))
}

// Close writes what waits, and ends the recording. It is called by the goroutine that owns the Core, also when the Core
// has panicked: then the recording ends with the step in which it has. Of a disk that hangs it waits closeTimeout long.
func (r *Recorder) Close() {
	r.mu.Lock()
	_, answers := r.oracle.heard()
	if !r.inStep {
		answers = nil
	}
	r.end(errClosed, answers)
	r.closed = true
	r.signal()
	r.mu.Unlock()
	select {
	case <-r.written:
	case <-r.after(closeTimeout):
	}
}

// startFrame begins a frame. The caller must hold mu.
func (r *Recorder) startFrame() {
	r.open = frame{data: frameBuffers.Get().([]byte), session: r.session}
	r.signal()
}

// append replaces the data of the open frame by longer ones, or ends the session if a reader would refuse the frame.
// The caller must hold mu.
func (r *Recorder) append(data []byte) {
	if n := len(data) - len(r.open.data); n > maxFrame-2*frameBytes {
		r.end(fmt.Errorf("a record of %d bytes is too long", n), nil)
		return
	}
	r.grow(data)
}

func (r *Recorder) grow(data []byte) {
	r.waiting += len(data) - len(r.open.data)
	r.open.data = data
}

// seal completes the open frame. The caller must hold mu.
func (r *Recorder) seal() {
	if r.open.data == nil {
		return
	}
	r.full = append(r.full, r.open)
	r.open = frame{}
	r.signal()
}

// signal wakes the writer.
func (r *Recorder) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// flush has what waits written.
func (r *Recorder) flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seal()
}

// take takes the frames that are complete. waiting says that there is one that is not.
func (r *Recorder) take() (frames []frame, waiting, closed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	frames, r.full = r.full, nil
	return frames, r.open.data != nil, r.closed
}

// frameBuffers has memory for frames: most records are short.
var frameBuffers = sync.Pool{New: func() any { return make([]byte, 0, frameBytes+4<<10) }}

// recycle keeps the memory of a frame that was written.
func (r *Recorder) recycle(f frame) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting -= len(f.data)
	if cap(f.data) <= 2*frameBytes {
		//lint:ignore SA6002 one allocation for a frame is small beside the frame
		frameBuffers.Put(f.data[:0])
	}
}
