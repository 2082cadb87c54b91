package formerformat

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"github.com/canopy-scheduler/canopy/internal/server/recording"
)

// A segment is a file: the magic, the version of the format, and frames. A frame has a mark, its kind, the length of
// its payload, and a checksum of all that follows the mark.
const (
	magic      = "CANOPYRC"
	oldest     = 1
	newest     = 2 // with checkpoints
	prefixSize = len(magic) + 2

	frameMark  = "\xc5\xf2\x0aF"
	frameStart = len(frameMark) + 1 + 4 + 4 // bytes before the payload

	headerFrame  = 1 // the version of Canopy, and more
	recordsFrame = 2 // records, compressed

	maxFrame       = 64 << 20 // bytes of a payload, as written and as decompressed
	longestSegment = 272 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var (
	errEnd     = errors.New("the recording ends")
	errMissing = errors.New("steps are missing")
)

// item is an entry of a recording: one of its fields is set.
type item struct {
	begin *recording.Begin
	step  *recording.Step
	err   error // errMissing, errEnd, or why no more can be read
	other bool  // it is none of these
}

// reader reads a session.
type reader struct {
	paths  []string // of the segments that follow
	name   string   // of the segment that is read
	data   []byte   // of it
	at     int      // where the next frame begins
	canopy string   // version of Canopy that wrote it
	zstd   *zstd.Decoder

	records *cursor // of a frame; nil: there are none left
	step    uint64  // number of the step after those
	begins  int     // how many there were
	ended   bool    // the recorded scheduler has ended in good order
	failed  error   // why a segment cannot be read
}

func newReader(paths []string) *reader {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxFrame))
	if err != nil {
		panic("formerformat: " + err.Error())
	}
	return &reader{paths: paths, zstd: z}
}

func (r *reader) close() { r.zstd.Close() }

// next returns the next item, of which steps are complete.
func (r *reader) next() (x item) {
	for {
		if r.records == nil || len(r.records.b) == 0 {
			if x.err = r.frame(); x.err != nil {
				return x
			}
			continue
		}
		x = r.records.next()
		switch {
		case x.begin != nil:
			x.begin.Canopy = r.canopy
			r.begins++
		case x.err != nil:
			r.records = nil
			x.err = r.missing(x.err)
		}
		if r.records != nil {
			r.step, r.ended = r.records.step, r.records.ended
		}
		if !x.other {
			return x
		}
	}
}

// missing returns that steps are missing, and why. The rest of the segment is left out.
func (r *reader) missing(why error) error {
	err := fmt.Errorf("%w: %s: byte %d: %v", errMissing, r.name, r.at, why)
	r.at = len(r.data)
	return err
}

// frame reads the next frame with records.
func (r *reader) frame() error {
	for {
		if r.at == len(r.data) {
			if err := r.segment(); err != nil {
				return err
			}
		}
		kind, payload, err := r.payload()
		if err != nil {
			return r.missing(err)
		}
		if kind == headerFrame {
			r.canopy, err = canopyOf(payload)
		} else if kind == recordsFrame {
			return r.open(payload)
		}
		if err != nil {
			return r.missing(err)
		}
	}
}

func (r *reader) open(payload []byte) error {
	records, err := r.zstd.DecodeAll(payload, nil)
	if err != nil {
		return r.missing(err)
	}
	before := r.step
	if r.records, err = newCursor(records); err != nil {
		return r.missing(err)
	}
	r.step = r.records.step
	if r.step != before {
		return fmt.Errorf("%w: %s: %d of them", errMissing, r.name, int64(r.step-before))
	}
	return nil
}

// payload returns that of the next frame.
func (r *reader) payload() (kind byte, payload []byte, err error) {
	b := r.data[r.at:]
	if len(b) < frameStart || !bytes.HasPrefix(b, []byte(frameMark)) {
		return 0, nil, errors.New("there is no frame")
	}
	checked := b[len(frameMark) : len(frameMark)+5]
	n, sum := binary.LittleEndian.Uint32(checked[1:]), binary.LittleEndian.Uint32(b[len(frameMark)+5:])
	if n > maxFrame || int(n) > len(b)-frameStart {
		return 0, nil, io.ErrUnexpectedEOF
	}
	payload = b[frameStart : frameStart+int(n)]
	if crc32.Update(crc32.Checksum(checked, castagnoli), castagnoli, payload) != sum {
		return 0, nil, errors.New("a checksum is wrong")
	}
	r.at += frameStart + int(n)
	return checked[0], payload, nil
}

// segment reads the next segment.
func (r *reader) segment() error {
	if len(r.paths) == 0 {
		r.records = nil
		if !r.ended {
			return errors.New("the end is missing")
		}
		return errEnd
	}
	path := r.paths[0]
	r.paths, r.name, r.data, r.at = r.paths[1:], filepath.Base(path), nil, 0
	info, err := os.Stat(path)
	if err == nil && info.Size() > longestSegment {
		err = fmt.Errorf("%s has %d bytes, and a segment at most %d", path, info.Size(), longestSegment)
	}
	if err == nil {
		r.data, err = os.ReadFile(path)
	}
	if err == nil && (len(r.data) < prefixSize || string(r.data[:len(magic)]) != magic) {
		err = fmt.Errorf("%s is no segment of a recording", path)
	}
	if err == nil {
		if v := binary.LittleEndian.Uint16(r.data[len(magic):]); v < oldest || v > newest {
			err = fmt.Errorf("%s has version %d of the format, and only versions %d to %d are converted", path, v, oldest,
				newest)
		}
	}
	if err != nil {
		r.failed = err
		return err
	}
	r.at = prefixSize
	return nil
}
