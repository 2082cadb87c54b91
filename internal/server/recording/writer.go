package recording

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"github.com/klauspost/compress/zstd"
)

// writer writes the chunks of a Recorder to segments, on a goroutine of its own.
type writer struct {
	store     *Store
	partition string
	dir       string
	recorder  *Recorder
	zstd      *zstd.Encoder

	session int64 // 0: no segment was created yet
	index   int
	file    File // nil: no segment is open
	path    string
	bytes   int64
	created time.Time
	frames  int // with records, in the segment

	lost       uint64    // steps that could not be written, and are not in a Gap yet
	reason     error     // why; nil: none are lost
	unreported uint64    // of the lost steps
	failed     bool      // the last attempt to write has failed
	retryAt    time.Time // until then nothing is written
	payload    []byte    // memory, like the next two
	compressed []byte
	frameData  []byte
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
		chunks, waiting, closed := r.take()
		for _, c := range chunks {
			w.write(c)
			r.recycle(c)
		}
		switch {
		case closed:
			w.close()
			return
		case !waiting:
			flush = nil
		case flush == nil:
			flush = r.after(w.store.opt.FlushEvery)
		}
	}
}

// write writes a chunk, or counts what it has as lost.
func (w *writer) write(c chunk) {
	now := w.store.opt.Now()
	if c.lost > 0 {
		w.lose(c.lost, ErrBufferFull)
		w.report()
	}
	if w.failed && now.Before(w.retryAt) {
		w.lose(c.steps, w.reason)
		return
	}
	err := w.writeFrames(c, now)
	switch {
	case err != nil:
		w.failed, w.retryAt = true, now.Add(w.store.opt.RetryEvery)
		w.closeSegment()
		w.lose(c.steps, err)
		w.report()
	case w.failed:
		w.failed, w.reason = false, nil
		w.report()
	}
}

// lose counts steps as lost.
func (w *writer) lose(steps uint64, why error) {
	w.lost += steps
	w.unreported += steps
	w.reason = why
}

// report reports steps as lost, or, without a reason, that the partition writes again.
func (w *writer) report() {
	w.store.opt.OnFailure(w.partition, w.unreported, w.reason)
	w.unreported = 0
}

func (w *writer) writeFrames(c chunk, now time.Time) error {
	if w.file != nil && (c.begins || w.bytes >= w.store.opt.SegmentBytes || now.Sub(w.created) >= w.store.opt.SegmentAge) {
		w.closeSegment()
	}
	if w.file == nil {
		if err := w.createSegment(c, now); err != nil {
			return err
		}
	}
	w.frameData = w.frameData[:0]
	if w.lost > 0 {
		w.payload = appendGap(appendChunkHead(w.payload[:0], c.first, epoch), Gap{w.lost, w.reason.Error()})
		w.appendRecords(w.payload)
	}
	w.appendRecords(c.data)
	n, err := w.file.Write(w.frameData)
	w.bytes += int64(n)
	if err != nil {
		return err
	}
	w.frames++
	w.lost = 0
	return nil
}

func (w *writer) appendRecords(records []byte) {
	w.compressed = w.zstd.EncodeAll(records, w.compressed[:0])
	w.frameData = appendFrame(w.frameData, recordsFrame, w.compressed)
}

// createSegment creates the next segment, whose name begins with the time of the session, so that names have the order
// of time.
func (w *writer) createSegment(c chunk, now time.Time) error {
	if err := os.MkdirAll(w.dir, 0o700); err != nil {
		return err
	}
	first := w.session == 0
	if first {
		w.session = now.UnixNano()
	}
	for {
		w.path = filepath.Join(w.dir, segmentName(w.session, w.index))
		file, err := w.store.create(w.path)
		if first && os.IsExist(err) { // another session of the partition began at the same time
			w.session++
			continue
		}
		if err != nil {
			return err
		}
		w.file, w.bytes, w.created, w.frames = file, 0, now, 0
		w.index++
		break
	}
	header := segmentHeader{w.store.opt.Canopy, w.partition, w.session, w.index - 1, c.first}
	n, err := w.file.Write(appendFrame(appendPrefix(nil), headerFrame, appendValue(nil, reflect.ValueOf(&header).Elem())))
	w.bytes += int64(n)
	return err
}

// closeSegment ends the segment, and removes old ones. One that has nothing but its header is removed.
func (w *writer) closeSegment() {
	if w.file == nil {
		return
	}
	err := w.file.Sync()
	if closed := w.file.Close(); err == nil {
		err = closed
	}
	w.file = nil
	if w.frames == 0 {
		_ = os.Remove(w.path)
		w.index--
	}
	w.store.ended(w.path)
	if err == nil {
		err = w.store.retain()
	}
	if err != nil && !w.failed {
		w.store.opt.OnFailure(w.partition, 0, fmt.Errorf("%s: %w", w.path, err))
	}
}

// close writes the mark of the end.
func (w *writer) close() {
	step, lost := w.recorder.end()
	if w.file != nil || w.lost > 0 || lost > 0 {
		w.retryAt = time.Time{}
		w.write(chunk{data: appendMark(appendChunkHead(nil, step, epoch), EndMark), first: step, lost: lost})
	}
	w.closeSegment()
	_ = w.zstd.Close()
}
