package etcdstore

import (
	"bytes"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/canopy-scheduler/canopy/internal/server/reload"
)

// format is the beginning of each value: after it are a SHA-256 sum of the relative key and the rest, and the text,
// compressed by zstd.
const format = "canopy etcd 1\n"

// maxText bounds the text of a value, in bytes: a damaged value must not fill the memory. The longest is a generation
// with a queues.yaml of --max-config-bytes, escaped as JSON.
const maxText = 1 << 30

// encode is the value of a key, which is without the prefix.
func encode(key string, text []byte) []byte {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic("etcdstore: " + err.Error())
	}
	return append([]byte(format), reload.AddChecksum([]byte(key), z.EncodeAll(text, nil))...)
}

// decode is the reverse of encode. A value that is damaged, or of another key, is an error.
func decode(key string, value []byte) ([]byte, error) {
	sealed, ok := bytes.CutPrefix(value, []byte(format))
	if !ok {
		return nil, fmt.Errorf("it is not of the format %q but begins with %q", format, value[:min(len(value), len(format))])
	}
	compressed, err := reload.VerifyChecksum([]byte(key), sealed)
	if err != nil {
		return nil, err
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxText))
	if err != nil {
		panic("etcdstore: " + err.Error())
	}
	defer z.Close()
	return z.DecodeAll(compressed, nil)
}
