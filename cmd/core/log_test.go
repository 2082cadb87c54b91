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
		{"CFG-100 a name", "debug", zapcore.DebugLevel},
		{"CFG-100 a name in any case", "WARN", zapcore.WarnLevel},
		{"CFG-100 a number", "-1", zapcore.DebugLevel},
		{"CFG-100 the highest number", "5", zapcore.FatalLevel},
		{"CFG-100 a number below the range is clamped", "-7", zapcore.DebugLevel},
		{"CFG-100 a number above the range is clamped", "77", zapcore.FatalLevel},
		{"CFG-100 an unknown name keeps the level of the flag", "loud", zapcore.InfoLevel},
		{"CFG-100 an empty value keeps the level of the flag", "", zapcore.InfoLevel},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, extraLevel(map[string]string{logLevelKey: c.text}, zapcore.InfoLevel), c.want)
		})
	}
	assert.Equal(t, extraLevel(nil, zapcore.ErrorLevel), zapcore.ErrorLevel, "CFG-100 no extra configuration")
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
