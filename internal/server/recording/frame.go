package recording

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/klauspost/compress/zstd"
)

// A segment is a file: the magic, the version of the format, and frames. A frame has a mark, its kind, the length of
// its payload, and a checksum of all that follows the mark. The mark lets a reader go on behind damage.

const (
	magic         = "CANOPYRC"
	formatVersion = 2 // with checkpoints
	oldestVersion = 1 // that is read
	prefixSize    = len(magic) + 2

	frameMark  = "\xc5\xf2\x0aF"
	frameStart = len(frameMark) + 1 + 4 + 4 // bytes before the payload

	headerFrame  = 1 // a segmentHeader
	recordsFrame = 2 // records, compressed

	maxFrame  = 64 << 20 // bytes of a payload, as written and as decompressed
	extension = ".rec"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func appendPrefix(b []byte) []byte {
	return binary.LittleEndian.AppendUint16(append(b, magic...), formatVersion)
}

func appendFrame(b []byte, kind byte, payload []byte) []byte {
	b = append(b, frameMark...)
	checked := len(b)
	b = binary.LittleEndian.AppendUint32(append(b, kind), uint32(len(payload)))
	sum := crc32.Update(crc32.Checksum(b[checked:], castagnoli), castagnoli, payload)
	return append(binary.LittleEndian.AppendUint32(b, sum), payload...)
}

// frames reads the frames of a segment.
type frames struct {
	data []byte
	at   int
}

// openFrames checks the prefix of a segment. name is for errors.
func openFrames(name string, data []byte) (*frames, error) {
	if len(data) < prefixSize || string(data[:len(magic)]) != magic {
		return nil, fmt.Errorf("%s: %w", name, ErrNoSegment)
	}
	if v := binary.LittleEndian.Uint16(data[len(magic):]); v < oldestVersion || v > formatVersion {
		return nil,
			fmt.Errorf("%s: %w: it has version %d, and this Canopy reads versions %d to %d", name, ErrVersion, v, oldestVersion,
				formatVersion)
	}
	return &frames{data, prefixSize}, nil
}

// next is the next frame that is not damaged. skipped are the bytes before it that are; ok is false if there is none.
func (f *frames) next() (kind byte, payload []byte, skipped int, ok bool) {
	from := f.at
	for f.at < len(f.data) {
		kind, payload, ok = f.frame()
		if ok {
			skipped = f.at - from
			f.at += frameStart + len(payload)
			return kind, payload, skipped, true
		}
		f.at++
		i := bytes.Index(f.data[f.at:], []byte(frameMark))
		if i < 0 {
			break
		}
		f.at += i
	}
	f.at = len(f.data)
	return 0, nil, f.at - from, false
}

// frame is the frame at f.at, if there is one.
func (f *frames) frame() (kind byte, payload []byte, ok bool) {
	b := f.data[f.at:]
	if len(b) < frameStart || string(b[:len(frameMark)]) != frameMark {
		return 0, nil, false
	}
	checked := b[len(frameMark) : len(frameMark)+5]
	n, sum := binary.LittleEndian.Uint32(checked[1:]), binary.LittleEndian.Uint32(b[len(frameMark)+5:])
	if n > maxFrame || int(n) > len(b)-frameStart {
		return 0, nil, false
	}
	payload = b[frameStart : frameStart+int(n)]
	if crc32.Update(crc32.Checksum(checked, castagnoli), castagnoli, payload) != sum {
		return 0, nil, false
	}
	return checked[0], payload, true
}

// newCompressor is for one goroutine.
func newCompressor() *zstd.Encoder {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(false), zstd.WithWindowSize(frameBytes))
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
