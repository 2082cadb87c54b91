package recording

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// FuzzReader reads any file as a segment: it is read, or refused, and no step is there twice.
func FuzzReader(f *testing.F) {
	whole := appendFrame(appendPrefix(nil), headerFrame,
		appendValue(nil, reflect.ValueOf(segmentHeader{Canopy: "dev", Partition: "p"})))
	records := appendDone(append(appendChunkHead(nil, 0, epoch), scheduleRecord, 2, 5), 1, 7, true)
	f.Add(appendFrame(whole, recordsFrame, newCompressor().EncodeAll(records, nil)))
	f.Add(whole)
	f.Add([]byte(magic))
	dir := f.TempDir()
	path := filepath.Join(dir, directoryOf("p"), segmentName(1, 0))
	assert.NilError(f, os.MkdirAll(filepath.Dir(path), 0o700))
	f.Fuzz(func(t *testing.T, data []byte) {
		assert.NilError(t, os.WriteFile(path, data, 0o600))
		sessions, err := Sessions(dir)
		assert.NilError(t, err)
		r := sessions[0].Open()
		defer r.Close()
		next := uint64(0)
		for {
			x, err := r.Next()
			if err != nil {
				assert.Assert(t, err == io.EOF || errors.Is(err, ErrVersion), "%v", err)
				return
			}
			if x.Step != nil {
				assert.Assert(t, x.Step.Number >= next)
				next = x.Step.Number + 1
				_ = x.Step.Describe()
			}
		}
	})
}

// FuzzRecords reads any bytes as the records of a frame. A command that can be read is written and read again without a
// difference.
func FuzzRecords(f *testing.F) {
	for _, c := range commandTypes[1:] {
		cmd := reflect.New(c).Elem().Interface().(scheduler.Command)
		if askMissing(cmd) {
			continue
		}
		body := appendCommand(nil, cmd)
		f.Add(append(append(appendChunkHead(nil, 3, epoch), commandRecord, 0, byte(len(body))), body...))
	}
	f.Add(appendMark(appendChunkHead(nil, 3, epoch), EndMark))
	f.Add(appendGap(appendChunkHead(nil, 3, epoch), Gap{2, "a test"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := newCursor(data)
		if err != nil {
			return
		}
		for len(c.b) > 0 {
			var x Item
			for done := false; !done && len(c.b) > 0; {
				if done, err = c.next(&x); err != nil {
					return
				}
			}
			if x.Step == nil || x.Step.Command == nil {
				continue
			}
			again, err := decodeCommand(appendCommand(nil, x.Step.Command))
			assert.NilError(t, err)
			assert.Assert(t, equalValues(reflect.ValueOf(again), reflect.ValueOf(x.Step.Command)), "%s", x.Step.Describe())
		}
	})
}
