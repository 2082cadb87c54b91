package recording

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Session is the recording of a partition from when its scheduler began until it ended.
type Session struct {
	Partition string
	Began     time.Time // in UTC
	Bytes     int64
	segments  []segmentFile
}

// Sessions lists what a directory has, by partition and time. Errors: ErrNoRecording, or that of the directory.
func Sessions(dir string) ([]Session, error) {
	segments, err := listSegments(dir)
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	if len(segments) == 0 {
		return nil, fmt.Errorf("%s: %w", dir, ErrNoRecording)
	}
	slices.SortFunc(segments, func(a, b segmentFile) int {
		return cmp.Or(cmp.Compare(a.partition, b.partition), cmp.Compare(a.session, b.session), cmp.Compare(a.index, b.index))
	})
	var all []Session
	for i, x := range segments {
		if i == 0 || x.partition != segments[i-1].partition || x.session != segments[i-1].session {
			all = append(all, Session{Partition: x.partition, Began: time.Unix(0, x.session).UTC()})
		}
		s := &all[len(all)-1]
		s.segments = append(s.segments, x)
		s.Bytes += x.bytes
	}
	return all, nil
}

// Reader reads a session.
type Reader struct {
	session Session
	zstd    *zstd.Decoder

	next   int // index in session.segments of the next one
	name   string
	canopy string
	frames *frames // nil: no segment is open

	items []Item // of the frame that are left
	step  uint64 // number of the step after those
	notes []string

	pieces pieces // of a Checkpoint that is not complete
}

// Open returns a Reader, which the caller must close.
func (s Session) Open() *Reader { return &Reader{session: s, zstd: newDecompressor()} }

// Close frees memory.
func (r *Reader) Close() { r.zstd.Close() }

// Segment is the name of the file of the last item.
func (r *Reader) Segment() string { return r.name }

// Canopy is the version of Canopy that wrote the last item; empty: it is not known.
func (r *Reader) Canopy() string { return r.canopy }

// Next is the next item. What is damaged or missing is a Gap. Errors: io.EOF, ErrVersion, or that of a file; the Reader
// must not be used then.
func (r *Reader) Next() (Item, error) {
	for len(r.items) == 0 {
		records, err := r.nextFrame()
		if err == io.EOF && len(r.notes) > 0 {
			return r.takeGap(0), nil
		}
		if err != nil {
			return Item{}, err
		}
		r.readFrame(records)
	}
	x := r.items[0]
	r.items = r.items[1:]
	return x, nil
}

// nextFrame is the payload of the next frame with records.
func (r *Reader) nextFrame() ([]byte, error) {
	for {
		if r.frames == nil {
			if err := r.openSegment(); err != nil {
				return nil, err
			}
			continue
		}
		kind, payload, skipped, ok := r.frames.next()
		if skipped > 0 {
			r.note("%s: %d bytes are damaged", r.name, skipped)
		}
		var header segmentHeader
		switch {
		case !ok:
			r.frames = nil
		case kind == recordsFrame:
			records, err := r.zstd.DecodeAll(payload, nil)
			if err == nil {
				return records, nil
			}
			r.note("%s: a frame cannot be decompressed: %v", r.name, err)
		case kind == headerFrame && decode(payload, &header) == nil:
			r.canopy = header.Canopy
		default:
			r.note("%s: a frame of kind %d cannot be read", r.name, kind)
		}
	}
}

// openSegment opens the next segment, and notes those that are missing and what is none.
func (r *Reader) openSegment() error {
	if r.next == len(r.session.segments) {
		return io.EOF
	}
	x, before := r.session.segments[r.next], -1
	if r.next > 0 {
		before = r.session.segments[r.next-1].index
	}
	r.next++
	r.name, r.canopy = filepath.Base(x.path), ""
	if n := x.index - before - 1; n > 0 {
		r.note("%d segments before %s are missing", n, r.name)
	}
	data, err := readSegment(x.path)
	if err != nil && !errors.Is(err, ErrNoSegment) {
		return fmt.Errorf("recording: %w", err)
	}
	if err == nil {
		r.frames, err = openFrames(x.path, data)
	}
	if errors.Is(err, ErrNoSegment) {
		r.note("%v", err)
		err = nil
	}
	return err
}

// longestSegment is the greatest length of a segment: what is written last may make it longer than MaxSegmentBytes.
const longestSegment = MaxSegmentBytes + 16<<20

// readSegment reads a file. ErrNoSegment: it is no regular file, or longer than any segment.
func readSegment(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: %w: it is no regular file", path, ErrNoSegment)
	case info.Size() > longestSegment:
		return nil,
			fmt.Errorf("%s: %w: it has %d bytes, and a segment at most %d", path, ErrNoSegment, info.Size(), longestSegment)
	}
	return os.ReadFile(path)
}

// readFrame reads the items of a frame, and a gap before them.
func (r *Reader) readFrame(records []byte) {
	c, err := newCursor(records)
	if err == nil && c.step < r.step {
		err = fmt.Errorf("it begins with step %d, and the one before ended with step %d", c.step, r.step)
	}
	if err != nil {
		r.note("%s: a frame cannot be read: %v", r.name, err)
		return
	}
	first := c.step
	var items []Item
	for err == nil && len(c.b) > 0 {
		var x Item
		for done := false; err == nil && !done && len(c.b) > 0; {
			done, err = c.next(&x)
		}
		switch {
		case err != nil && x.Step != nil:
			c.step-- // it is in the gap that follows
		case err != nil:
		case x.Gap != nil:
			r.note("%s", x.Gap.Reason)
		case x.piece != nil:
			if k := r.pieces.add(x.piece); k != nil {
				items = append(items, Item{Checkpoint: k})
			}
		default:
			items = append(items, x)
		}
	}
	if first > r.step || len(r.notes) > 0 && len(items) > 0 {
		items = append([]Item{r.takeGap(first - r.step)}, items...)
	}
	r.items, r.step = items, c.step
	if err != nil {
		r.note("%s: a record cannot be read: %v", r.name, err)
	}
}

func (r *Reader) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

func (r *Reader) takeGap(steps uint64) Item {
	gap := Gap{steps, strings.Join(r.notes, "; ")}
	r.notes = nil
	if gap.Reason == "" {
		gap.Reason = "the steps are not in the recording"
	}
	return Item{Gap: &gap}
}
