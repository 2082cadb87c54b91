package logging

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
)

// DefaultBuffer is how many bytes of lines wait to be written at most: some thousand lines.
const DefaultBuffer = 1 << 20

// syncTimeout is how long Sync waits. The logger calls it for lines at the levels panic and
// fatal, which are the last ones of a process.
const syncTimeout = time.Second

// Writer is a zapcore.WriteSyncer that never blocks. It is safe for concurrent use.
type Writer struct {
	out      io.Writer
	capacity int                      // bytes of lines that wait; as many again may be under way
	notice   func(lines int64) []byte // the line that says how many were dropped
	ended    chan struct{}            // closed when the writing goroutine has ended

	mu       sync.Mutex
	waiting  []byte        // lines that were accepted and not taken to be written
	lines    int64         // how many of them
	accepted uint64        // bytes, ever
	done     uint64        // bytes that were written, or could not be
	progress chan struct{} // closed when done has grown
	wake     chan struct{} // holds one signal that something waits
	dropped  int64         // lines, ever
	reported int64         // of dropped, those that a notice has told of
	closed   bool
}

// NewWriter returns a Writer to out, whose buffer holds so many bytes; 0: DefaultBuffer. notice
// makes the line that says how many lines were dropped; nil: there is none. Close ends it.
func NewWriter(out io.Writer, capacity int, notice func(lines int64) []byte) *Writer {
	if capacity <= 0 {
		capacity = DefaultBuffer
	}
	if notice == nil {
		notice = func(int64) []byte { return nil }
	}
	w := &Writer{
		out: out, capacity: capacity, notice: notice, ended: make(chan struct{}),
		progress: make(chan struct{}), wake: make(chan struct{}, 1),
	}
	go w.run()
	return w
}

// Write accepts one line, or drops it when the buffer is full. The error is always nil.
func (w *Writer) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || len(w.waiting)+len(line) > w.capacity {
		w.dropped++
		return len(line), nil
	}
	w.waiting = append(w.waiting, line...)
	w.lines++
	w.accepted += uint64(len(line))
	w.signal()
	return len(line), nil
}

// Sync waits until the lines that were accepted so far are written, a second at most.
func (w *Writer) Sync() error { return w.Flush(syncTimeout) }

// Flush is Sync with another bound. The error says that the bound was met.
func (w *Writer) Flush(within time.Duration) error {
	timeout := time.NewTimer(within)
	defer timeout.Stop()
	w.mu.Lock()
	target := w.accepted
	for w.done < target {
		progress := w.progress
		w.mu.Unlock()
		select {
		case <-progress:
		case <-timeout.C:
			return fmt.Errorf("the log could not be written within %s", within)
		}
		w.mu.Lock()
	}
	w.mu.Unlock()
	return nil
}

// Dropped is how many lines were lost since the start, because the buffer was full or because
// they could not be written.
func (w *Writer) Dropped() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dropped
}

// Close writes what waits, within a bound, and accepts nothing more. When the bound is met the
// goroutine that writes stays behind: it cannot be interrupted.
func (w *Writer) Close(within time.Duration) error {
	w.mu.Lock()
	w.closed = true
	w.signal()
	w.mu.Unlock()
	timeout := time.NewTimer(within)
	defer timeout.Stop()
	select {
	case <-w.ended:
		return nil
	case <-timeout.C:
		return fmt.Errorf("the log could not be written within %s", within)
	}
}

// signal wakes the writing goroutine. Requires: the lock is held.
func (w *Writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// run writes until Close. Two buffers take turns: one is filled while the other is written.
func (w *Writer) run() {
	defer close(w.ended)
	var batch []byte
	for range w.wake {
		for {
			var lines, notice int64
			var size int
			var last bool
			batch, size, lines, notice, last = w.take(batch)
			if size > 0 {
				n, err := w.out.Write(batch)
				w.wrote(size, lines, notice, batch[min(n, len(batch)):], err)
			}
			if last {
				return
			}
			if size == 0 {
				break
			}
		}
	}
}

// take exchanges the lines that wait for an empty buffer. size is how many bytes of the batch
// are theirs; after them comes the notice, which tells of so many dropped lines.
func (w *Writer) take(empty []byte) (batch []byte, size int, lines, notice int64, last bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	batch, w.waiting = w.waiting, empty[:0]
	lines, w.lines = w.lines, 0
	// The lines that were dropped came after those that filled the buffer.
	if size = len(batch); size > 0 && w.dropped > w.reported {
		notice = w.dropped - w.reported
		w.reported = w.dropped
		batch = append(batch, w.notice(notice)...)
	}
	return batch, size, lines, notice, w.closed && size == 0
}

// wrote notes what became of a batch. unwritten is the part of it that is lost.
func (w *Writer) wrote(size int, lines, notice int64, unwritten []byte, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.reported -= notice // it was in the part that is lost, or is told of twice
		w.dropped += min(lines, int64(bytes.Count(unwritten, []byte{'\n'})))
	}
	w.done += uint64(size)
	close(w.progress)
	w.progress = make(chan struct{})
}
