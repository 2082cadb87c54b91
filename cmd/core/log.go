package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/canopy-scheduler/canopy/internal/history"
	"github.com/canopy-scheduler/canopy/internal/logging"
)

// newLog returns a log that writes to out (OBS-68), and its level, which is that of --log-level until
// it is changed. Errors name the flags.
func (f *serveFlags) newLog(out io.Writer) (*logging.Log, zap.AtomicLevel, error) {
	from, err := zap.ParseAtomicLevel(f.logLevel)
	if err != nil {
		return nil, from, fmt.Errorf("--log-level is debug, info, warn or error, not %q", f.logLevel)
	}
	var encoder zapcore.Encoder
	switch f.logFormat {
	case "console":
		c := zap.NewDevelopmentEncoderConfig()
		c.EncodeTime = zapcore.ISO8601TimeEncoder
		encoder = zapcore.NewConsoleEncoder(c)
	case "json":
		c := zap.NewProductionEncoderConfig()
		c.EncodeTime = zapcore.RFC3339NanoTimeEncoder
		encoder = zapcore.NewJSONEncoder(c)
	default:
		return nil, from, fmt.Errorf("--log-format is console or json, not %q", f.logFormat)
	}
	log := logging.New(out, logging.Options{Encoder: encoder, Level: from, Buffer: f.logBuffer, Burst: f.logBurst})
	rpcLog.Store(log.Logger)
	return log, from, nil
}

// minLogBuffer is the least --log-buffer: it can hold any single line.
const minLogBuffer = 64 << 10

// checkLog reports invalid flags of the log.
func (f *serveFlags) checkLog() error {
	var small, negative error
	if f.logBuffer < minLogBuffer {
		small = fmt.Errorf("--log-buffer is %d, and must be at least %d", f.logBuffer, minLogBuffer)
	}
	if f.logBurst < 0 {
		negative = fmt.Errorf("--log-burst is %d, and must not be negative", f.logBurst)
	}
	return errors.Join(small, negative)
}

// logLevelKey is the key of the extra configuration that sets the log level (CFG-100). The event.* keys
// are read in internal/history (CFG-101); other keys have no effect.
const logLevelKey = "log.level"

// extraLevel is the level that an extra configuration sets; otherwise when the key is missing, empty or
// malformed (CFG-100).
func extraLevel(extra map[string]string, otherwise zapcore.Level) zapcore.Level {
	if level, ok := parseLevel(strings.TrimSpace(extra[logLevelKey])); ok {
		return level
	}
	return otherwise
}

// parseLevel reads a level: a name in any case, or a number from -1 (debug) to 5 (fatal); numbers out of
// the range are clamped.
func parseLevel(text string) (level zapcore.Level, ok bool) {
	if n, err := strconv.Atoi(text); err == nil {
		return zapcore.Level(min(max(n, int(zapcore.DebugLevel)), int(zapcore.FatalLevel))), true
	}
	level, err := zapcore.ParseLevel(text)
	return level, err == nil && text != ""
}

// extraCheck logs the invalid values of extra configurations.
type extraCheck struct {
	log       *zap.Logger
	flagLevel zapcore.Level // of --log-level
	last      map[string]string
}

// check logs each invalid value of an extra configuration, with what is used instead, unless the extra
// configuration is the last one (CFG-130).
func (c *extraCheck) check(extra map[string]string) {
	if maps.Equal(extra, c.last) {
		return
	}
	c.last = extra
	_, invalid := history.ReadSettings(extra)
	if text := strings.TrimSpace(extra[logLevelKey]); text != "" {
		if _, ok := parseLevel(text); !ok {
			invalid = append(invalid, history.InvalidSetting{Key: logLevelKey, Value: extra[logLevelKey], Used: c.flagLevel.String()})
		}
	}
	for _, x := range invalid {
		c.log.Warn("a value of the extra configuration is invalid and not used", zap.String("key", x.Key),
			zap.String("value", x.Value[:min(len(x.Value), 64)]), zap.String("used", x.Used))
	}
}
