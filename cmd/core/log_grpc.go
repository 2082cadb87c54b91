package main

import (
	"sync/atomic"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zapgrpc"
	"google.golang.org/grpc/grpclog"
)

// rpcLog is the log of the gRPC library; nil: its lines are discarded. By default the library writes
// to standard error itself, and its calls block while that is not read.
var rpcLog atomic.Pointer[zap.Logger]

// init sets the logger of the library, which may not be changed once calls are made.
func init() { grpclog.SetLoggerV2(zapgrpc.NewLogger(zap.New(rpcCore{}))) }

// rpcCore passes the lines of the library to rpcLog from level error on, the library's own default.
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

// Write is part of zapcore.Core. It is not called: Check adds the core of rpcLog.
func (rpcCore) Write(zapcore.Entry, []zapcore.Field) error { return nil }

// Sync is part of zapcore.Core.
func (rpcCore) Sync() error { return nil }
