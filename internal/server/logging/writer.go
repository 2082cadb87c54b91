package logging

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
)

// DefaultBuffer is the default size of the buffer: some thousand lines.
const DefaultBuffer = 1 << 20

// syncTimeout bounds the time for which Sync waits. The logger calls Sync after lines at the levels panic and
// fatal, which are the last ones of a process.
const syncTimeout = time.Second

// Writer is a zapcore.WriteSyncer that never blocks (OBS-69). It is safe for concurrent use.
type Writer struct {
	out      io.Writer
	capacity int                      // bytes of waiting lines; as many again may be in the batch that is being written
	notice   func(lines int64) []byte // formats the line that reports dropped lines
	ended    chan struct{}            // closed when the writing goroutine has ended

	mu       sync.Mutex
	waiting  []byte        // lines that are not yet taken by the writing goroutine
	lines    int64         // number of waiting lines
	accepted uint64        // bytes accepted since the start
	done     uint64        // bytes written or lost since the start
	progress chan struct{} // closed when done grows
	wake     chan struct{} // holds a value while lines may wait
	dropped  int64         // lines since the start
	reported int64         // how many of dropped have been reported by a notice
	closed   bool
}

// NewWriter returns a Writer to out with a buffer of capacity bytes; 0: DefaultBuffer. notice
// formats the line that reports dropped lines; nil: none is written. The caller must Close it.
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

// Sync waits until the lines so far are written, for a second at most (OBS-70).
func (w *Writer) Sync() error { return w.Flush(syncTimeout) }

// Flush waits until the lines so far are written, or returns an error after within.
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

// Dropped returns the number of lines that were lost since the start, because the buffer was full or a
// write failed.
func (w *Writer) Dropped() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dropped
}

// Close writes the waiting lines, and accepts no more. After within it returns an error and
// leaves the writing goroutine behind: a blocked write cannot be interrupted.
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

// signal wakes the writing goroutine. The caller must hold w.mu.
func (w *Writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// run writes until Close. It uses two buffers in turn: one is filled while the other is written.
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

// take exchanges the waiting lines for an empty buffer. size is the number of bytes of the lines
// in batch; the notice, about so many dropped lines, follows them.
func (w *Writer) take(empty []byte) (batch []byte, size int, lines, notice int64, last bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	batch, w.waiting = w.waiting, empty[:0]
	lines, w.lines = w.lines, 0
	// The lines that were dropped came after those that filled the buffer.
	size = len(batch)
	if size > 0 && w.dropped > w.reported {
		notice = w.dropped - w.reported
		w.reported = w.dropped
		batch = append(batch, w.notice(notice)...)
	}
	return batch, size, lines, notice, w.closed && size == 0
}

// wrote records the result of a write. unwritten is the part of the batch that is lost.
func (w *Writer) wrote(size int, lines, notice int64, unwritten []byte, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.reported -= notice // the notice may be lost: report these lines again
		w.dropped += min(lines, int64(bytes.Count(unwritten, []byte{'\n'})))
	}
	w.done += uint64(size)
	close(w.progress)
	w.progress = make(chan struct{})
}
