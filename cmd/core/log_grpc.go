package main

import (
	"sync/atomic"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zapgrpc"
	"google.golang.org/grpc/grpclog"
)

// rpcLog is where the gRPC library logs; nil: nowhere. By default it writes to standard error
// itself, and blocks its calls when that is not read.
var rpcLog atomic.Pointer[zap.Logger]

// init is the only place where the logger of the library may be set: calls do not expect it to
// change.
func init() { grpclog.SetLoggerV2(zapgrpc.NewLogger(zap.New(rpcCore{}))) }

// rpcCore hands the errors of the library to rpcLog, as the library would without it.
type rpcCore struct{}

// Enabled is part of zapcore.Core.
func (rpcCore) Enabled(l zapcore.Level) bool { return l >= zapcore.ErrorLevel && rpcLog.Load() != nil }

// With is part of zapcore.Core.
func (c rpcCore) With([]zapcore.Field) zapcore.Core { return c }

// Check is part of zapcore.Core.
func (c rpcCore) Check(e zapcore.Entry, to *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if log := rpcLog.Load(); log != nil && c.Enabled(e.Level) {
		e.LoggerName = "grpc"
		return log.Core().Check(e, to)
	}
	return to
}

// Write is part of zapcore.Core. Check hands entries to another core.
func (rpcCore) Write(zapcore.Entry, []zapcore.Field) error { return nil }

// Sync is part of zapcore.Core.
func (rpcCore) Sync() error { return nil }
