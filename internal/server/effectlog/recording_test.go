package effectlog

import (
	"errors"
	"testing"

	"go.uber.org/zap/zapcore"
	"gotest.tools/v3/assert"
)

func TestOnRecording_SaysWhy(t *testing.T) {
	l, out := newRecordedLog(zapcore.InfoLevel)
	l.OnRecording("p", errors.New("the session is not recorded any more: no space left on device"))
	assert.DeepEqual(t, outputLines(out), []string{
		`{"level":"warn","msg":"the recording has failed","partition":"p","error":"the session is not recorded any more: ` +
			`no space left on device"}`,
	})
}
