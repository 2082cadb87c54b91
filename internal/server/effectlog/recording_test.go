package effectlog

import (
	"errors"
	"testing"
	"time"

	"go.uber.org/zap/zapcore"
	"gotest.tools/v3/assert"
)

func TestOnRecording_NamesAGapAndItsEnd(t *testing.T) {
	l, out := newRecordedLog(zapcore.InfoLevel)
	l.OnRecording("p", 500, errors.New("no space left on device"))
	l.OnRecording("p", 9, nil)
	assert.DeepEqual(t, outputLines(out), []string{
		`{"level":"warn","msg":"the recording has a gap","partition":"p","lost":500,"error":"no space left on device"}`,
		`{"level":"info","msg":"the recording goes on","partition":"p","lost":9}`,
	})
}

func TestOnCheckpoint_SaysHowLong(t *testing.T) {
	l, out := newRecordedLog(zapcore.InfoLevel)
	l.OnCheckpoint("p", 1_000_000, 80*time.Millisecond, nil)
	l.OnCheckpoint("p", 0, 0, errors.New("it is too large"))
	assert.DeepEqual(t, outputLines(out), []string{
		`{"level":"info","msg":"the recording has a checkpoint","partition":"p","bytes":1000000,"took":"80ms"}`,
		`{"level":"warn","msg":"the recording gets no more checkpoints","partition":"p","error":"it is too large"}`,
	})
}
