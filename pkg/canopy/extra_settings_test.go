package canopy

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
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
			assert.Equal(t, extraLevel(map[string]string{"log.level": c.text}, zapcore.InfoLevel), c.want)
		})
	}
	for text, want := range map[string]zapcore.Level{"debug": zapcore.DebugLevel, "": zapcore.WarnLevel,
		"loud": zapcore.WarnLevel} {
		extra := map[string]string{"log.core.level": text, "log.level": "warn", "log.shim.level": "error"}
		assert.Equal(t, extraLevel(extra, zapcore.InfoLevel), want, "CFG-100 the level of the core: %q", text)
	}
	assert.Equal(t, extraLevel(nil, zapcore.ErrorLevel), zapcore.ErrorLevel, "CFG-100 no extra configuration")
}

func TestLoggerLevels(t *testing.T) {
	got := loggerLevels(map[string]string{
		"log.core.level": "warn", "log.level": "error", "log.core.scheduler.level": " debug ",
		"log.core.scheduler.node.level": "2", "log.core.rest.level": "loud",
		"log.core..level": "debug", "log.shim.context.level": "debug", "log.core.rmproxy": "debug",
		"log.core.config.level": "",
	})
	assert.DeepEqual(t, got,
		map[string]zapcore.Level{"scheduler": zapcore.DebugLevel, "scheduler.node": zapcore.ErrorLevel})
}

func TestExtraCheck_InvalidValuesAreLoggedOnce(t *testing.T) {
	core, logs := observer.New(zapcore.DebugLevel)
	c := extraCheck{log: zap.New(core), startLevel: zapcore.WarnLevel}
	c.check(nil)
	c.check(map[string]string{"log.level": " ", "event.maxStreams": "0", "queues.yaml": "x"})
	assert.Equal(t, logs.Len(), 0)
	invalid := map[string]string{"log.level": "banana", "log.core.scheduler.node.level": "kiwi",
		"event.ringBufferCapacity": "-5", "event.trackingEnabled": strings.Repeat("maybe", 100)}
	c.check(invalid)
	c.check(maps.Clone(invalid)) // a new queues.yaml with the same extra configuration
	var got []string
	for _, e := range logs.TakeAll() {
		assert.Equal(t, e.Level, zapcore.WarnLevel)
		f := e.ContextMap()
		got = append(got, fmt.Sprintf("%v=%.10v: %v", f["key"], f["value"], f["used"]))
	}
	assert.DeepEqual(t, got, []string{
		"event.trackingEnabled=maybemaybe: true", "event.ringBufferCapacity=-5: 100000", "log.level=banana: warn",
		"log.core.scheduler.node.level=kiwi: that of the logger above scheduler.node",
	})
	c.check(map[string]string{"log.level": "peach"})
	assert.Equal(t, logs.Len(), 1)
	c.check(map[string]string{"log.level": "error", "log.core.level": "plum"})
	assert.Equal(t, logs.All()[1].ContextMap()["key"], "log.core.level")
	assert.Equal(t, logs.All()[1].ContextMap()["used"], "error")
}
