package recording

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// A segment is a file: the magic, the version of the format, and frames. A frame is the length of what follows, and
// records compressed by zstd, with a checksum.

const (
	magic         = "CANOPYRC"
	formatVersion = 3
	prefixSize    = len(magic) + 2

	// frameBytes is about how long the records of a frame are before they are compressed.
	frameBytes = 256 << 10
	maxFrame   = 64 << 20 // bytes of a frame, compressed or not
	extension  = ".rec"
)

var (
	// ErrVersion says that a segment has the format of another version of Canopy.
	ErrVersion = errors.New("the format of the recording is not that of this version of Canopy")
	// ErrNoRecording says that a directory has no segments.
	ErrNoRecording = errors.New("there is no recording")
	// ErrNoBegin says that the begin of a session is missing or damaged.
	ErrNoBegin = errors.New("the begin of the session cannot be read")
)

func appendPrefix(b []byte) []byte {
	return binary.LittleEndian.AppendUint16(append(b, magic...), formatVersion)
}

// readPrefix reads the begin of a segment. Errors: ErrVersion, or why it is none.
func readPrefix(from io.Reader) error {
	var b [prefixSize]byte
	if _, err := io.ReadFull(from, b[:]); err != nil || string(b[:len(magic)]) != magic {
		return errors.New("it is no segment of a recording")
	}
	switch v := binary.LittleEndian.Uint16(b[len(magic):]); {
	case v < formatVersion:
		return fmt.Errorf(
			"%w: it has version %d, and this Canopy reads version %d; 'canopy-lab recording convert' converts it",
			ErrVersion,
			v,
			formatVersion,
		)
	case v > formatVersion:
		return fmt.Errorf("%w: it has version %d, and this Canopy reads version %d", ErrVersion, v, formatVersion)
	}
	return nil
}

// appendFrame appends records as a frame.
func appendFrame(b []byte, z *zstd.Encoder, records []byte) []byte {
	at := len(b)
	b = z.EncodeAll(records, append(b, 0, 0, 0, 0))
	binary.LittleEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}

// readFrame reads the records of the next frame, of which at most left bytes are in the file. The error is io.EOF at
// the end.
func readFrame(from io.Reader, left int64, z *zstd.Decoder) (records []byte, bytes int64, err error) {
	var head [4]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return nil, 0, err // io.EOF: there is none
	}
	n := int64(binary.LittleEndian.Uint32(head[:]))
	if n > min(maxFrame, left-4) {
		return nil, 0, fmt.Errorf("a frame of %d bytes is incomplete", n)
	}
	data := make([]byte, n)
	if _, err := io.ReadFull(from, data); err != nil {
		return nil, 0, fmt.Errorf("a frame of %d bytes is incomplete: %w", n, err)
	}
	records, err = z.DecodeAll(data, nil)
	return records, n + 4, err
}

// newCompressor returns a compressor for one goroutine.
func newCompressor() *zstd.Encoder {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(frameBytes))
	if err != nil {
		panic("recording: " + err.Error())
	}
	return z
}

func newDecompressor() *zstd.Decoder {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxFrame))
	if err != nil {
		panic("recording: " + err.Error())
	}
	return z
}
