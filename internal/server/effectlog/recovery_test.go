package effectlog

import (
	"testing"
	"time"

	"go.uber.org/zap/zapcore"
	"gotest.tools/v3/assert"
)

func TestOnRecovered_WarnsIfReportsGoOn(t *testing.T) {
	l, out := newRecordedLog(zapcore.InfoLevel)
	l.OnRecovered("p", 500, 3*time.Second, false)
	l.OnRecovered("p", 9, time.Minute, true)
	assert.DeepEqual(t, outputLines(out), []string{
		`{"level":"info","msg":"the recovery is over: decisions begin","partition":"p","reported":500,"took":"3s"}`,
		`{"level":"warn","msg":"decisions begin although the resource manager still reports allocations: a max may be ` +
			`exceeded","partition":"p","reported":9,"took":"1m0s"}`,
	})
}
