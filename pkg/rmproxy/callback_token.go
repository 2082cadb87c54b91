package rmproxy

import "sync/atomic"

// callbackToken is held during a call to a linked shim. Waiting callers get it in the order in which they came, so no
// partition starves another. Nearly always no caller waits; then it costs two atomic operations. It is not a Mutex,
// because one that is blocked in a callback, which may take for ever, must not keep virtual time from passing in tests.
type callbackToken struct {
	callers atomic.Int32  // that hold the token or wait for it
	passed  chan struct{} // passes the token from a caller to the next
}

func newCallbackToken() *callbackToken { return &callbackToken{passed: make(chan struct{})} }

// take waits for the token.
func (t *callbackToken) take() {
	if t.callers.Add(1) > 1 {
		<-t.passed
	}
}

// release passes the token to the next caller, if there is one. Requires: the caller holds it.
func (t *callbackToken) release() {
	if t.callers.Add(-1) > 0 {
		t.passed <- struct{}{} // it waits already, or is about to
	}
}
