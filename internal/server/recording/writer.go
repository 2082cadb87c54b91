package recording

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/klauspost/compress/zstd"
)

// writer writes the frames of a Recorder to segments, on a goroutine of its own.
type writer struct {
	store     *Store
	partition string
	recorder  *Recorder
	zstd      *zstd.Encoder

	session sessionKey // of the last frame that began one
	index   int        // of its next segment
	failed  int        // number of the last session that has failed
	file    File       // nil: no segment is open
	path    string
	bytes   int64
	steps   bool   // the session has a step
	data    []byte // memory
}

// run writes until the Recorder is closed.
func (w *writer) run() {
	r := w.recorder
	defer close(r.written)
	var flush <-chan time.Time // nil: nothing waits
	for {
		select {
		case <-r.wake:
		case <-flush:
			r.flush()
			flush = nil
		}
		frames, waiting, closed := r.take()
		for _, f := range frames {
			w.write(f)
			r.recycle(f)
		}
		switch {
		case closed:
			_ = w.zstd.Close()
			return
		case !waiting:
			flush = nil
		case flush == nil:
			flush = r.after(w.store.opt.FlushEvery)
		}
	}
}

// write writes a frame, unless the session has failed before.
func (w *writer) write(f frame) {
	if f.session == w.failed {
		return
	}
	err := w.append(f)
	if err != nil {
		w.failed = f.session
		w.recorder.fail(f.session, err)
	} else if f.ends == nil {
		return
	}
	if err == nil && f.ends != errClosed {
		err = f.ends
	}
	closed := w.closeSession()
	if err != nil {
		closed = fmt.Errorf("%w: %w", ErrEnded, err)
	}
	if closed != nil {
		w.store.opt.OnFailure(w.partition, closed)
	}
}

// append appends a frame to the segment, or to the next one. The error says why the session must end.
func (w *writer) append(f frame) error {
	if f.began > 0 {
		w.session, w.index, w.steps = sessionKey{w.partition, f.began}, 0, false
	}
	if w.file == nil || w.bytes >= w.store.opt.SegmentBytes {
		if err := w.nextSegment(); err != nil {
			return err
		}
	}
	w.steps = w.steps || f.steps
	return w.appendRecords(f.data)
}

func (w *writer) appendRecords(records []byte) error {
	w.data = appendFrame(w.data[:0], w.zstd, records)
	n, err := w.file.Write(w.data)
	w.bytes += int64(n)
	return err
}

// nextSegment creates a segment, in place of the one that is full. If there is no space for it, the full one says so.
func (w *writer) nextSegment() error {
	total, err := w.store.retain()
	if err != nil {
		w.store.opt.OnFailure(w.partition, err)
	}
	if total > w.store.opt.MaxBytes {
		err = fmt.Errorf("%w: %d bytes, and at most %d", ErrTooLong, total, w.store.opt.MaxBytes)
		if w.file != nil { // the result of the last step may be in the frame that is not written
			_ = w.appendRecords(appendEnd(nil, err.Error(), true, nil))
		}
		return err
	}
	if err := w.closeSegment(); err != nil {
		return err
	}
	for {
		var file File
		file, w.path, err = w.store.create(w.session, w.index)
		if os.IsExist(err) && w.index == 0 { // another session of the partition began at the same time
			w.session.began++
			continue
		}
		if err != nil {
			return err
		}
		w.file, w.bytes = file, int64(prefixSize)
		w.index++
		break
	}
	_, err = w.file.Write(appendPrefix(nil))
	return err
}

func (w *writer) closeSegment() error {
	if w.file == nil {
		return nil
	}
	err := w.file.Sync()
	if closed := w.file.Close(); err == nil {
		err = closed
	}
	w.file = nil
	if err != nil {
		err = fmt.Errorf("%s: %w", w.path, err)
	}
	return err
}

// closeSession ends the files of the session. One without a step is removed.
func (w *writer) closeSession() error {
	if w.index == 0 {
		return nil
	}
	err := w.closeSegment()
	if !w.steps {
		err = errors.Join(err, os.Remove(w.path))
	}
	w.index = 0
	w.store.release(w.session)
	return err
}
