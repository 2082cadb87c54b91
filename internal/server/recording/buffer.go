package recording

import (
	"encoding/binary"
	"time"
)

// Close writes what waits, and ends the recording. It is called by the goroutine that owns the Core, also when the Core
// has panicked: then the recording ends with the step in which it has. Of a disk that hangs it waits closeTimeout long.
func (r *Recorder) Close() {
	if !r.held {
		r.mu.Lock()
	}
	r.held = false
	if !r.closed {
		if r.inStep && r.oracle != nil && len(r.oracle.answers) > 0 {
			r.appended(appendText(append(r.open.data, answersRecord), string(r.oracle.answers)))
		}
		r.seal()
		r.closed = true
		r.signal()
	}
	r.mu.Unlock()
	select {
	case <-r.written:
	case <-r.after(closeTimeout):
	}
}

// signal wakes the writer.
func (r *Recorder) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// flush has the open chunk written, at the end of the step that is recorded.
func (r *Recorder) flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.inStep {
		r.flushDue = true
	} else {
		r.seal()
	}
}

// take takes the chunks that are complete. waiting: there is one that is not.
func (r *Recorder) take() (chunks []chunk, waiting, closed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	chunks, r.sealed = r.sealed, nil
	return chunks, r.open.data != nil && !r.flushDue, r.closed
}

// end is the number of the step after the last, and how many steps were dropped since the last chunk.
func (r *Recorder) end() (step, lost uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.step, r.lost
}

// spareChunks are the chunks whose memory is kept.
const spareChunks = 4

// recycle keeps the memory of a chunk that was written.
func (r *Recorder) recycle(c chunk) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.piece {
		r.checkpoints.waiting -= len(c.data)
		return
	}
	r.bytes -= len(c.data)
	if len(r.spare) < spareChunks && cap(c.data) <= 2*chunkBytes {
		r.spare = append(r.spare, c.data[:0])
	}
}

// epoch is the time from which times in frames without steps count.
var epoch = time.Unix(0, 0)

func appendChunkHead(b []byte, first uint64, base time.Time) []byte {
	return binary.AppendVarint(binary.AppendUvarint(b, first), base.UnixNano())
}
