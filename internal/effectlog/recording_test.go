package effectlog

import (
	"errors"
	"testing"

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
