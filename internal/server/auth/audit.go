package auth

import (
	"errors"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Change is a change that a client has requested (SEC-12).
type Change struct {
	Identity string // of the client; Anonymous: it is not known
	Peer     string // its address
	Action   string // what was requested, such as "POST /ws/v1/config" or "register"
	Object   string // what it is about; may be empty
	Err      error  // why it was refused; nil: it was made
	Result   string // of a change that was made, such as "generation 7"; may be empty
}

// Audit logs a change, or its refusal, at any level of the log and however often: a resource manager may set the level
// (CFG-100), and must not hide by it what it has done.
func Audit(log *zap.Logger, c Change) {
	outcome, result := "done", c.Result
	if c.Err != nil {
		outcome, result = "refused", shortened(c.Err.Error())
	}
	entry := zapcore.Entry{Level: zapcore.InfoLevel, Time: time.Now(), Message: "audit"}
	_ = log.Core().Write(entry, []zap.Field{ // the log counts the lines that it cannot write
		zap.String("identity", c.Identity), zap.String("peer", c.Peer), zap.String("action", c.Action),
		zap.String("object", shortened(c.Object)), zap.String("outcome", outcome), zap.String("result", result),
	})
}

// LogRefusal logs a request or a call that was refused because of its credentials. Without any, which is how a browser
// begins, it is a line at debug.
func LogRefusal(log *zap.Logger, peer, what string, err error) {
	if r := new(refusal); errors.As(err, &r) && r.reason == Missing {
		log.Debug("access refused: there are no credentials", zap.String("peer", peer), zap.String("action", shortened(what)))
		return
	}
	log.Warn("access refused", zap.String("peer", peer), zap.String("action", shortened(what)), zap.Error(err))
}
