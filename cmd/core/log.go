package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// newLogger writes to out, everything from level on; what is written from can be changed
// later. The errors name the flags.
func newLogger(level, format string, out io.Writer) (*zap.Logger, zap.AtomicLevel, error) {
	from, err := zap.ParseAtomicLevel(level)
	if err != nil {
		return nil, from, fmt.Errorf("--log-level is debug, info, warn or error, not %q", level)
	}
	var encoder zapcore.Encoder
	switch format {
	case "console":
		c := zap.NewDevelopmentEncoderConfig()
		c.EncodeTime = zapcore.ISO8601TimeEncoder
		encoder = zapcore.NewConsoleEncoder(c)
	case "json":
		c := zap.NewProductionEncoderConfig()
		c.EncodeTime = zapcore.RFC3339NanoTimeEncoder
		encoder = zapcore.NewJSONEncoder(c)
	default:
		return nil, from, fmt.Errorf("--log-format is console or json, not %q", format)
	}
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(out)), from)), from, nil
}

// logLevelKey is the one key of the extra configuration that Canopy reads (behaviour.md 12).
const logLevelKey = "log.level"

// extraLevel is the level that an extra configuration asks for: a name in any case, or a
// number from -1 (debug) to 5 (fatal), where what is beyond counts as the end. otherwise is
// what holds when it asks for none, or for what is none (behaviour.md 12).
func extraLevel(extra map[string]string, otherwise zapcore.Level) zapcore.Level {
	text := strings.TrimSpace(extra[logLevelKey])
	if n, err := strconv.Atoi(text); err == nil {
		return zapcore.Level(min(max(n, int(zapcore.DebugLevel)), int(zapcore.FatalLevel)))
	}
	if level, err := zapcore.ParseLevel(text); err == nil && text != "" {
		return level
	}
	return otherwise
}
