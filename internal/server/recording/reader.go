package recording

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Reader reads a session.
type Reader struct {
	Begin *Begin

	session Session
	zstd    *zstd.Decoder
	next    int // index in session.segments of the next one
	file    *os.File
	from    *bufio.Reader // of file
	place   int64         // where the next frame begins
	size    int64         // of file
	records []byte        // of the frame that are left

	steps      uint64    // how many were begun
	at         time.Time // of the last one
	pending    *Step     // it, until it is complete; nil: it is
	incomplete string
}

// runs gives the reason why a session without an end is incomplete.
const runs = "the end is missing: the scheduler runs, or was killed"

// Open returns a Reader at the first step of the session, which the caller must close. Errors: ErrVersion, ErrNoBegin,
// or that of a file.
func (s Session) Open() (*Reader, error) {
	r := &Reader{session: s, zstd: newDecompressor(), at: epoch.UTC(), incomplete: runs}
	x, err := r.record()
	if err == nil && !x.has(beginRecord, 1) {
		err = errForm
	}
	if err == nil {
		if r.Begin, err = beginOf(x[1]); err == nil {
			return r, nil
		}
	}
	r.Close()
	if !errors.Is(err, ErrVersion) && !isFileError(err) {
		err = fmt.Errorf("%w: %w", ErrNoBegin, err)
	}
	return nil, fmt.Errorf("%s: %w", s.segments[0].path, err)
}

// Close frees memory.
func (r *Reader) Close() {
	r.zstd.Close()
	if r.file != nil {
		_ = r.file.Close()
	}
}

// Segment returns the name of the file of the last step.
func (r *Reader) Segment() string { return filepath.Base(r.file.Name()) }

// Incomplete returns why steps are missing behind the last one, after Next has returned io.EOF; empty: none are.
func (r *Reader) Incomplete() string { return r.incomplete }

// Next returns the next step. Damage ends the session: what is behind it cannot be made again. Errors: io.EOF,
// ErrVersion, or that of a file; the Reader must not be used then.
func (r *Reader) Next() (*Step, error) {
	for {
		x, err := r.record()
		var done *Step
		if err == nil {
			done, err = r.take(x)
		}
		switch {
		case err == nil && done == nil:
			continue
		case err == nil:
			return done, nil
		case errors.Is(err, ErrVersion) || isFileError(err):
			return nil, fmt.Errorf("recording: %w", err)
		case err != io.EOF:
			r.incomplete = fmt.Sprintf("%s: byte %d: %v", r.Segment(), r.place, err)
		}
		r.records, r.next, r.from = nil, len(r.session.segments), nil
		if r.pending != nil {
			done, r.pending = r.pending, nil
			return done, nil
		}
		return nil, io.EOF
	}
}

// isFileError reports whether an error is of the operating system.
func isFileError(err error) bool {
	var of *os.PathError
	return errors.As(err, &of)
}

// take takes a record. The result is a step that it has completed; nil: none.
func (r *Reader) take(x record) (done *Step, err error) {
	pending := r.pending
	switch {
	case x.has(commandRecord, 3), x.has(scheduleRecord, 2):
		s, after, err := x.step()
		if err != nil {
			return nil, err
		}
		r.at = r.at.Add(after)
		s.Number, s.At, r.pending = r.steps, r.at, s
		r.steps++
		if pending != nil {
			pending.Done = true
		}
		return pending, nil
	case x.has(resultRecord, 4) && pending != nil:
		if err := x.result(pending); err != nil {
			return nil, err
		}
		r.pending = nil
		return pending, nil
	case x.has(endRecord, 3):
		reason, ok1 := x[1].(string)
		inStep, ok2 := x[2].(bool)
		answers, ok3 := x[3].(string)
		if !ok1 || !ok2 || !ok3 {
			return nil, errForm
		}
		r.incomplete = reason
		if pending != nil {
			pending.Done, pending.Answers = !inStep, []byte(answers)
		}
		return nil, io.EOF
	}
	return nil, errForm
}

// record returns the next record. Errors: io.EOF at the end, ErrVersion, that of a file, or what is damaged.
func (r *Reader) record() (x record, err error) {
	for len(r.records) == 0 {
		if err := r.frame(); err != nil {
			return nil, err
		}
	}
	r.records, err = decoder.UnmarshalFirst(r.records, &x)
	return x, err
}

// frame reads the next frame.
func (r *Reader) frame() (err error) {
	if r.from == nil {
		if err := r.openSegment(); err != nil {
			return err
		}
	}
	var n int64
	r.records, n, err = readFrame(r.from, r.size-r.place, r.zstd)
	if err == io.EOF {
		r.from = nil
		return nil // the next segment follows
	}
	if err == nil {
		r.place += n
	}
	return err
}

// longestSegment is the greatest length of a segment: what is written last may make it longer than MaxSegmentBytes.
const longestSegment = MaxSegmentBytes + maxFrame

// openSegment opens the next segment.
func (r *Reader) openSegment() error {
	if r.next == len(r.session.segments) {
		return io.EOF
	}
	x := r.session.segments[r.next]
	if x.index != r.next {
		return fmt.Errorf("%d segments before %s are missing", x.index-r.next, filepath.Base(x.path))
	}
	r.next++
	info, err := os.Stat(x.path)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no regular file", x.path)
	case info.Size() > longestSegment:
		return fmt.Errorf("%s has %d bytes, and a segment at most %d", x.path, info.Size(), longestSegment)
	}
	if r.file != nil {
		_ = r.file.Close()
	}
	if r.file, err = os.Open(x.path); err != nil {
		return err
	}
	r.from, r.place, r.size = bufio.NewReaderSize(r.file, 1<<16), int64(prefixSize), info.Size()
	return readPrefix(r.from)
}
