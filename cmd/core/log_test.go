package main

import (
	"bytes"
	"strings"
	"testing"

	"go.uber.org/zap/zapcore"
	"gotest.tools/v3/assert"
)

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
