package rmproxy

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
)

// registrationCall is one call of RegisterResourceManager.
type registrationCall struct {
	p      *Proxy
	stream grpc.ServerStream
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// serveRegistration serves a call of RegisterResourceManager. It returns when the message does
// not arrive in time, although the reading goroutine still waits: only the return of the handler
// ends the read.
func (p *Proxy) serveRegistration(stream grpc.ServerStream) error {
	c := registrationCall{p: p, stream: stream}
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

// register receives the message and registers the RM (RMI-6, RMI-15). One call at a time holds a
// decoded message; the others hold memory for the bytes that they have received.
func (c registrationCall) register() (err error) {
	var rmID string // empty: not known yet
	defer func() {
		if r := recover(); r != nil { // the interceptors of the server do not cover this goroutine
			c.p.log.Error("panic in a registration", zap.Any("panic", r), zap.Stack("stack"))
			err = errors.New("the scheduler failed to handle the registration")
			return
		}
		if c.ctx.Err() == nil { // else the client has left, or sent nothing in time
			c.p.logRefusedRegistration(clientOf(c.ctx), rmID, err)
		}
	}()
	in := &messageReader{p: c.p, ctx: c.ctx, stream: c.stream}
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
		return err
	}
	rmID = rmIDOf(rm)
	if len(rm) > maxID { // before the text is copied
		return fmt.Errorf("%w: %w", ErrRequest, tooLong("rmID", string(rm[:maxID]), len(rm), maxID))
	}
	if err := c.p.checkRM(c.ctx, rmID); err != nil {
		return err
	}
	c.p.awaitReplaceable(c.ctx, rmID)
	if err := c.p.checkRegister(rmID); err != nil {
		return err
	}
	m := &si.RegisterResourceManagerRequest{}
	done, err := in.acquireDecoding(b, registrationShape)
	if err == nil {
		err = malformed(unmarshal(b, m))
	}
	done()
	if err != nil {
		return err
	}
	in.release()
	// registerRM does not get the context of the call: a registration that has begun is completed
	// even if the RM cancels the call.
	return c.p.registerRM(clientOf(c.ctx), m, func() *session { return newSession(c.p, m.RmID) }, loop.Mode{})
}

// receive receives the message of the call (RMI-17).
func (c registrationCall) receive(in *messageReader) ([]byte, error) {
	p := c.p
	defer p.untrackSilent(p.trackSilent(c.ctx, c.cancel, true))
	stopTimer := p.firstMessageTimeout(c.cancel)
	b, err := in.receive(p.memory.unidentified)
	stopTimer()
	switch limit := p.maxRegistrationBytes(); {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%w: the call has no message", ErrRequest)
	case err != nil:
		return nil, err
	case len(b) > limit:
		return nil, fmt.Errorf("%w: the registration has %d bytes, at most %d are allowed: "+
			"a configuration of max-config-bytes (%d), and %d for everything else",
			ErrTooLarge, len(b), limit, p.engine.Reloads().MaxBytes(), maxRMFields)
	}
	return b, nil
}

// maxRegistrationBytes is the maximum length of a registration (RMI-17).
func (p *Proxy) maxRegistrationBytes() int { return p.engine.Reloads().MaxBytes() + maxRMFields }

// rmIDOf returns a copy of a received rmID, cut to a length that checkRMID still refuses.
func rmIDOf(rm []byte) string { return string(rm[:min(len(rm), maxID+1)]) }
