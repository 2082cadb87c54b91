package rmproxy

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// registrationCall is one call of RegisterResourceManager.
type registrationCall struct {
	p      *Proxy
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// serveRegistration serves a call of RegisterResourceManager. It ends when its message does not
// arrive in time, although the one who reads it waits for more: only the return of a handler
// stops that.
func (p *Proxy) serveRegistration(stream grpc.ServerStream) error {
	c := registrationCall{p: p}
	c.ctx, c.cancel = context.WithCancelCause(stream.Context())
	defer c.cancel(nil)
	defer context.AfterFunc(p.ctx, func() { c.cancel(ErrClosed) })()
	result := make(chan error, 1)
	if !p.spawn(func() { result <- c.register() }) {
		return toStatus(ErrClosed)
	}
	select {
	case err := <-result:
		if err != nil {
			return toStatus(err)
		}
		return stream.SendMsg(&si.RegisterResourceManagerResponse{})
	case <-c.ctx.Done():
		return toStatus(context.Cause(c.ctx))
	}
}

// register receives the message, and registers. One call at a time holds a decoded message; the
// others hold room for what they have received.
func (c registrationCall) register() (err error) {
	defer func() {
		if r := recover(); r != nil { // the interceptors of the server do not see this goroutine
			c.p.log.Error("panic in a registration", zap.Any("panic", r), zap.Stack("stack"))
			err = errors.New("the scheduler could not take the registration")
		}
	}()
	in := newMessageReader(c.p, c.ctx, c.cancel)
	defer in.release()
	b, err := c.receive(in)
	if err != nil {
		return err
	}
	if err := c.p.memory.registering.Acquire(c.ctx, 1); err != nil {
		return err
	}
	defer c.p.memory.registering.Release(1)
	rm, err := senderID(b, registrationShape)
	if err != nil {
		return malformed(err)
	}
	c.p.awaitReplaceable(c.ctx, rmIDOf(rm))
	if err := c.p.checkRegister(rmIDOf(rm)); err != nil {
		return err
	}
	m := &si.RegisterResourceManagerRequest{}
	done, err := in.decode(b, registrationShape, m)
	done()
	if err != nil {
		return err
	}
	in.release()
	// The context of the call is left out on purpose: a registration that has begun
	// is carried through, whether or not the RM still listens.
	return c.p.registerRM(m, func() *session { return newSession(c.p, m.RmID) })
}

// receive receives the message of the call.
func (c registrationCall) receive(in *messageReader) ([]byte, error) {
	p := c.p
	defer p.untrackSilent(p.trackSilent(c.cancel, true))
	stopTimer := p.firstMessageTimeout(c.cancel)
	n, err := in.readLength()
	stopTimer()
	switch limit := p.reloads.MaxBytes() + maxRMFields; {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%w: the call has no message", ErrRequest)
	case err != nil:
		return nil, err
	case n > limit:
		return nil, fmt.Errorf("%w: the registration has %d bytes, at most %d are allowed: "+
			"a configuration of max-config-bytes (%d), and %d for everything else",
			ErrTooLarge, n, limit, p.reloads.MaxBytes(), maxRMFields)
	}
	return in.readBytes(n, p.memory.unidentified)
}

// rmIDOf is an rmID as it was received, or enough of it to see that it is too long.
func rmIDOf(rm []byte) string { return string(rm[:min(len(rm), maxID+1)]) }
