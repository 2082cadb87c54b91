package main

import (
	"errors"
	"fmt"
	"io"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/canopy-scheduler/canopy/internal/server/logging"
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
