package recording

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// A checkpoint is taken by the goroutine that owns the Core, between two steps, and is compressed and written by the
// writer like records. It is divided into pieces, each in a frame of its own, so that the memory of a frame is bounded.

// Checkpoint is the state of a Core between two steps: a replay may begin with it.
type Checkpoint struct {
	oracle Abilities
	state  []byte
}

// Core is a Core with the state, which asks the Oracle of a replay. The error says that another version of Canopy has
// written it (objectgraph.ErrOtherTypes), or that it is malformed.
func (k *Checkpoint) Core(answers *Answers) (*scheduler.Core, error) {
	return DecodeState(k.state, answers.Oracle(k.oracle))
}

// Usable reports whether this program can read the state, unless it is malformed.
func (k *Checkpoint) Usable() bool { return usableState(k.state) }

// Bytes is the length of the state.
func (k *Checkpoint) Bytes() int { return len(k.state) }

// pieceBytes is the length of the pieces of a checkpoint but the last.
const pieceBytes = 1 << 20

// maxPieces bounds the memory that a checkpoint may take when it is read.
const maxPieces = 4 << 10

// piece is one of the pieces of a checkpoint.
type piece struct {
	oracle    Abilities
	index, of uint64
	data      []byte
}

// pieces are those of a checkpoint, from the first, without any that is missing.
type pieces struct {
	state []byte
	next  uint64
}

// add adds the next piece. The result is the checkpoint when it is complete; one of which a piece is missing never is.
func (p *pieces) add(x *piece) *Checkpoint {
	if x.index == 0 {
		*p = pieces{}
	}
	if x.index != p.next || x.index >= x.of || x.of > maxPieces {
		*p = pieces{next: maxPieces} // nothing is added until a first piece comes
		return nil
	}
	p.state = append(p.state, x.data...)
	p.next++
	if p.next < x.of {
		return nil
	}
	k := &Checkpoint{x.oracle, p.state}
	*p = pieces{}
	return k
}

// checkpoints says when the state of a Core is recorded.
type checkpoints struct {
	every   time.Duration // 0: never
	last    time.Time     // of the steps; zero: there was none
	clock   func() time.Time
	encode  func(*scheduler.Core, scheduler.Oracle) ([]byte, error)
	piece   int // bytes of a piece but the last
	report  func(bytes int, took time.Duration, err error)
	waiting int // bytes of pieces that the disk has not taken; guarded by Recorder.mu
}

var errTooLarge = errors.New("the state is too large for a checkpoint")

// addCheckpoint records the state of the Core if that is due. While the disk is slow it stays due.
func (r *Recorder) addCheckpoint() {
	k := &r.checkpoints
	if k.last.IsZero() {
		k.last = r.last
	}
	if r.last.Sub(k.last) < k.every {
		return
	}
	r.mu.Lock()
	ready := r.accepts() && k.waiting <= r.buffer/2
	r.mu.Unlock()
	if !ready {
		return
	}
	k.last = r.last
	began := k.clock()
	state, err := k.encode(r.core, r.given)
	n := (len(state) + k.piece - 1) / k.piece
	if err == nil && n > maxPieces {
		err = errTooLarge
	}
	if err != nil {
		k.every = 0
		k.report(0, 0, err)
		return
	}
	r.mu.Lock()
	r.seal()
	for i := range n {
		data := appendChunkHead(nil, r.step, epoch)
		data = binary.AppendUvarint(append(data, checkpointRecord, byte(r.has)), uint64(i))
		data = appendText(binary.AppendUvarint(data, uint64(n)), string(state[i*k.piece:min((i+1)*k.piece, len(state))]))
		r.sealed = append(r.sealed, chunk{data: data, first: r.step, begins: i == 0, piece: true})
		k.waiting += len(data)
	}
	r.signal()
	r.mu.Unlock()
	k.report(len(state), k.clock().Sub(began), nil)
}
