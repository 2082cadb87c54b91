package rmproxy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/tap"
)

var (
	errNoFirstMessage       = errors.New("no first message")
	errTooSlow              = errors.New("too slow")
	errTooManySilentStreams = errors.New("too many streams without a first message are open")
)

// silentStreams are the streams and calls without a first message, the oldest first. Guarded by
// Proxy.mu.
type silentStreams struct {
	streams []*silentStream
	ended   uint64 // streams that were ended in favour of newer ones
}

// arrivalKey is the key of the registration that was current when a call or stream arrived.
type arrivalKey struct{}

// ServerOption is an option of the gRPC server that the Proxy is added to (Register). With it, a stream belongs to the
// registration that was current when the stream arrived on its connection (RMI-14); without it, to that of the moment
// at which its goroutine begins, and a registration that follows on the same connection may be faster.
func (p *Proxy) ServerOption() grpc.ServerOption {
	return grpc.InTapHandle(func(ctx context.Context, _ *tap.Info) (context.Context, error) {
		return context.WithValue(ctx, arrivalKey{}, p.registrationCount.Load()), nil
	})
}

// silentStream is a stream without a first message.
type silentStream struct {
	cancel       context.CancelCauseFunc
	registration uint64 // current when it was opened; 0: none
	isCall       bool   // a registration call, which belongs to no registration
}

// trackSilent adds a new stream to the silent ones (RMI-25). If there are too many, the oldest is
// ended, so that an RM that sends at once is not kept out by clients that do not send.
func (p *Proxy) trackSilent(ctx context.Context, cancel context.CancelCauseFunc, isCall bool) *silentStream {
	p.mu.Lock()
	defer p.mu.Unlock()
	current := p.registrationCount.Load()
	entry := &silentStream{cancel, current, isCall}
	if arrived, ok := ctx.Value(arrivalKey{}).(uint64); ok && arrived != current && !isCall {
		cancel(errOpenedBeforeRegistration)
		entry.registration = arrived
		return entry
	}
	if limit := p.opt.Limits.SilentStreams; len(p.silent.streams) >= limit {
		p.silent.streams[0].cancel(fmt.Errorf("%w: at most %d", errTooManySilentStreams, limit))
		p.silent.streams = slices.Delete(p.silent.streams, 0, 1)
		p.silent.ended++
	}
	p.silent.streams = append(p.silent.streams, entry)
	return entry
}

// untrackSilent removes a stream: it got its first message, or ended.
func (p *Proxy) untrackSilent(entry *silentStream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.silent.streams, entry); i >= 0 {
		p.silent.streams = slices.Delete(p.silent.streams, i, i+1)
	}
}

// endSilentStreams ends the streams that were opened before the current registration (RMI-14). The
// caller must hold p.mu.
func (p *Proxy) endSilentStreams() {
	p.silent.streams = slices.DeleteFunc(p.silent.streams, func(x *silentStream) bool {
		if !x.isCall {
			x.cancel(errOpenedBeforeRegistration)
		}
		return !x.isCall
	})
}

// firstMessageTimeout ends a stream that gets no first message in time, unless stop is called
// before (RMI-25).
func (p *Proxy) firstMessageTimeout(cancel context.CancelCauseFunc) (stop func() bool) {
	limit := p.opt.Limits.FirstMessageTimeout
	return time.AfterFunc(limit, func() { cancel(fmt.Errorf("%w came within %v", errNoFirstMessage, limit)) }).Stop
}
