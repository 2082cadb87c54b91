package recording

import (
	"encoding/binary"
	"sync"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// frameBytes is about how long the records of a frame are before they are compressed.
const frameBytes = 256 << 10

// chunkBytes is the memory of a chunk: most records are short.
const chunkBytes = frameBytes + 4<<10

// Recorder records the steps of one Core. Its methods, but for Close, are called by the goroutine that owns the Core,
// and never block: what does not fit into the buffer is dropped, and is a Gap.
type Recorder struct {
	core   *scheduler.Core
	opt    objects.Options
	buffer int // bytes that may wait
	oracle *listeningOracle
	has    Abilities
	digest Digester
	last   time.Time // of the last step that was recorded
	drops  bool      // the current step is dropped
	delta  askDelta  // of the open chunk
	// mu is held from a command to its effects: locking it twice for each is a tenth of what recording costs
	held    bool
	scratch []byte
	given   scheduler.Oracle // the Oracle that the Core has

	checkpoints checkpoints

	mu       sync.Mutex // guards the fields below
	open     chunk
	sealed   []chunk
	spare    [][]byte // buffers of chunks that were written
	bytes    int      // in open and sealed
	step     uint64   // number of the next step
	lost     uint64   // steps that were dropped since the last chunk
	inStep   bool     // the open chunk has the begin of a step whose end is to come
	flushDue bool     // the chunk is sealed when the step has ended
	closed   bool

	wake    chan struct{} // holds a value when the writer may have something to do
	written chan struct{} // closed when the writer has ended
	after   func(time.Duration) <-chan time.Time
}

// chunk are the records of a frame.
type chunk struct {
	data   []byte
	steps  uint64
	first  uint64
	begins bool // the first record is one with which a replay can begin
	piece  bool // it has a piece of a Checkpoint, and is not counted in Recorder.bytes
	lost   uint64
}

// Begin records what the Core was made with. It is called before the first step, and after Oracle.
func (r *Recorder) Begin() { r.begin(false) }

func (r *Recorder) begin(restart bool) {
	b := &Begin{Options: r.opt, Partition: r.core.Partition().Config(), Oracle: r.has, Restart: restart}
	if restart {
		b.Operators, b.NotListening, b.Draining = r.core.OperatorState(), !r.core.Listening(), r.core.Draining()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seal()
	if r.accepts() {
		r.startChunk(r.last)
		r.open.begins = true
		r.appended(appendBegin(r.open.data, b))
	}
}

// Oracle is an Oracle for the Core that answers what o answers. A Core that gets another one is reset by its next
// command.
func (r *Recorder) Oracle(o scheduler.Oracle) scheduler.Oracle {
	r.has = abilitiesOf(o)
	r.oracle = &listeningOracle{to: o}
	r.given = withAbilities(r.oracle, r.has)
	return r.given
}

// Command records a command that is applied next. ResetPartition begins the recording anew.
func (r *Recorder) Command(now time.Time, cmd scheduler.Command) {
	if _, resets := cmd.(scheduler.ResetPartition); resets {
		r.begin(true)
	}
	if r.beginStep(now) {
		data := r.appendCommand(now, cmd)
		r.last, r.held = now, true
		r.appended(data)
	}
}

// appendCommand appends a record of a command.
func (r *Recorder) appendCommand(now time.Time, cmd scheduler.Command) []byte {
	b, after := r.open.data, int64(0)
	if now != r.last { // the commands of a message have the same time
		after = int64(now.Sub(r.last))
	}
	if p := askCommandOf(cmd); p.ask != nil {
		return r.delta.appendAsk(binary.AppendVarint(append(b, askRecord), after), &p)
	}
	if m, ok := cmd.(scheduler.Release); ok && !m.NodeRefused && m.Message == "" { // these are rare
		return r.delta.appendRelease(binary.AppendVarint(append(b, releaseRecord), after), m)
	}
	r.scratch = appendCommand(r.scratch[:0], cmd)
	b = binary.AppendVarint(append(b, commandRecord), after)
	return append(binary.AppendUvarint(b, uint64(len(r.scratch))), r.scratch...)
}

// Schedule records a call of Schedule that comes next.
func (r *Recorder) Schedule(now time.Time, budget int) {
	if !r.beginStep(now) {
		return
	}
	b := binary.AppendVarint(append(r.open.data, scheduleRecord), int64(now.Sub(r.last)))
	r.last = now
	r.appended(binary.AppendUvarint(b, uint64(budget)))
	r.mu.Unlock() // the Oracle may take its time
}

// Effects records the result of the command or the call that was recorded last. It does not keep effects.
func (r *Recorder) Effects(effects []scheduler.Effect, more bool) {
	if r.drops {
		return
	}
	var questions, answers []byte
	if r.oracle != nil {
		r.oracle.inStep = false
		questions, answers = r.oracle.questions, r.oracle.answers
	}
	digest := r.digest.Digest(effects, questions)
	if !r.held {
		r.mu.Lock()
	}
	r.held = false
	b := r.open.data
	if len(answers) > 0 {
		b = appendText(append(b, answersRecord), string(answers))
	}
	r.appended(appendDone(b, len(effects), digest, more))
	r.inStep = false
	if r.flushDue {
		r.seal()
	}
	r.mu.Unlock()
	if r.checkpoints.every > 0 {
		r.addCheckpoint()
	}
}

// beginStep begins a step, and locks mu if the step is not dropped.
func (r *Recorder) beginStep(now time.Time) bool {
	r.mu.Lock()
	r.drops = !r.accepts()
	if r.drops {
		r.step++
		r.lost++
		r.mu.Unlock()
		return false
	}
	if r.oracle != nil {
		r.oracle.begin()
	}
	if len(r.open.data) >= frameBytes {
		r.seal()
	}
	if r.open.data == nil {
		r.startChunk(now)
	}
	r.open.steps++
	r.step++
	r.inStep = true
	return true
}

// accepts reports whether the buffer takes a record. When it was full, it does again when half of it is free. The
// caller must hold mu.
func (r *Recorder) accepts() bool {
	if r.closed {
		return false
	}
	if r.lost > 0 {
		return r.bytes <= r.buffer/2
	}
	return r.bytes < r.buffer
}

// startChunk begins a chunk whose first record counts time from base. The caller must hold mu.
func (r *Recorder) startChunk(base time.Time) {
	var b []byte
	if n := len(r.spare); n > 0 {
		b, r.spare = r.spare[n-1], r.spare[:n-1]
	} else {
		b = make([]byte, 0, chunkBytes)
	}
	r.open = chunk{data: b, first: r.step, lost: r.lost}
	r.lost, r.last = 0, base
	r.delta.reset()
	r.appended(appendChunkHead(b, r.step, base))
	r.signal()
}

// appended replaces the data of the open chunk. The caller must hold mu.
func (r *Recorder) appended(data []byte) {
	r.bytes += len(data) - len(r.open.data)
	r.open.data = data
}

// seal ends the open chunk. The caller must hold mu, and no step may be open.
func (r *Recorder) seal() {
	r.flushDue = false
	if r.open.data == nil {
		return
	}
	r.sealed = append(r.sealed, r.open)
	r.open = chunk{}
	r.signal()
}
