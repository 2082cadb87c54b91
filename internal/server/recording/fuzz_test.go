package recording

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// FuzzReader reads any file as a segment: it is read, or refused, and the steps have their numbers.
func FuzzReader(f *testing.F) {
	z := newCompressor()
	records := appendBegin(nil, &Begin{Canopy: "dev"})
	records = appendResult(appendStep(records, time.Second, nil, 5), 1, 7, true, []byte{1})
	records = appendStep(records, 0, scheduler.Wake{}, 0)
	f.Add(appendFrame(appendPrefix(nil), z, records))
	f.Add(appendFrame(appendPrefix(nil), z, appendEnd(records, "a test", true, nil)))
	f.Add([]byte(magic))
	dir := f.TempDir()
	path := filepath.Join(dir, directoryOf("p"), segmentName(1, 0))
	assert.NilError(f, os.MkdirAll(filepath.Dir(path), 0o700))
	f.Fuzz(func(t *testing.T, data []byte) {
		assert.NilError(t, os.WriteFile(path, data, 0o600))
		sessions, err := Sessions(dir)
		assert.NilError(t, err)
		r, err := sessions[0].Open()
		if err != nil {
			assert.Assert(t, errors.Is(err, ErrNoBegin) || errors.Is(err, ErrVersion), "%v", err)
			return
		}
		defer r.Close()
		for n := uint64(0); ; n++ {
			x, err := r.Next()
			if err != nil {
				assert.Assert(t, err == io.EOF || errors.Is(err, ErrVersion), "%v", err)
				return
			}
			assert.Equal(t, x.Number, n)
			_ = x.String()
		}
	})
}

// FuzzCommand reads any bytes as a command. One that can be read is written and read again without a difference.
func FuzzCommand(f *testing.F) {
	for _, c := range commandTypes[1:] {
		f.Add(EncodeCommand(reflect.New(c).Elem().Interface().(scheduler.Command)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		cmd, err := DecodeCommand(data)
		if err != nil {
			return
		}
		again, err := DecodeCommand(EncodeCommand(cmd))
		assert.NilError(t, err)
		assert.Assert(t, equalValues(reflect.ValueOf(again), reflect.ValueOf(cmd)), "%v", &Step{Command: cmd})
	})
}
