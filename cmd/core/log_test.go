package main

import (
	"bytes"
	"strings"
	"testing"

	"go.uber.org/zap/zapcore"
	"gotest.tools/v3/assert"
)

func TestExtraLevel(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       zapcore.Level
	}{
		{"12 a name", "debug", zapcore.DebugLevel},
		{"12 a name in any case", "WARN", zapcore.WarnLevel},
		{"12 a number", "-1", zapcore.DebugLevel},
		{"12 the highest number", "5", zapcore.FatalLevel},
		{"12 a number out of range is clamped", "-7", zapcore.DebugLevel},
		{"12 and at the other end", "77", zapcore.FatalLevel},
		{"12 what is none is ignored", "loud", zapcore.InfoLevel},
		{"12 nothing leaves what the flag says", "", zapcore.InfoLevel},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, extraLevel(map[string]string{logLevelKey: c.text}, zapcore.InfoLevel), c.want)
		})
	}
	assert.Equal(t, extraLevel(nil, zapcore.ErrorLevel), zapcore.ErrorLevel, "12 no extra configuration")
}

func TestNewLog_LevelCanChange(t *testing.T) {
	var out bytes.Buffer
	f := serveFlags{logLevel: "info", logFormat: "json"}
	log, level, err := f.newLog(&out)
	assert.NilError(t, err)
	log.Debug("before")
	level.SetLevel(zapcore.DebugLevel)
	log.Debug("after")
	assert.NilError(t, log.Close())
	assert.Assert(t, !strings.Contains(out.String(), "before"))
	assert.Assert(t, strings.Contains(out.String(), "after"))
}
