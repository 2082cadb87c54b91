package rmproxy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/tap"
)

var (
	errNoFirstMessage       = errors.New("no first message")
	errTooManySilentStreams = errors.New("too many streams without a first message are open")
	errTooManyOtherCalls    = errors.New("too many calls to other services are open")
)

// silentStreams are the streams and calls without a first message, the oldest first. Guarded by
// Proxy.mu.
type silentStreams struct {
	streams []*silentStream
	ended   uint64 // streams that were ended in favour of newer ones
}

// otherCallKey is the key of the otherCall of a call to another service.
type otherCallKey struct{}

// arrivalKey is the key of the registration that was current when a call or stream arrived.
type arrivalKey struct{}

// ServerOptions are the options that the gRPC server to which the Proxy is added (Register) must have. They bound the
// messages of all its services (RMI-37, RMI-43).
func (p *Proxy) ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.InTapHandle(p.noteArrival), grpc.ForceServerCodecV2(newCodec()), grpc.MaxRecvMsgSize(p.maxReceivedBytes()),
	}
}

// noteArrival is called when a stream or call arrives on its connection. A stream belongs to the registration that is
// current then (RMI-14): a registration that follows on the same connection may be handled earlier. Calls of other
// services have no limits of their own, so few of them may be open: one more ends the oldest, so that a short one is
// not kept out by clients that do not finish theirs (RMI-43).
func (p *Proxy) noteArrival(ctx context.Context, call *tap.Info) (context.Context, error) {
	if strings.HasPrefix(call.FullMethodName, "/"+ServiceName+"/") {
		return context.WithValue(ctx, arrivalKey{}, p.registrationCount.Load()), nil
	}
	ctx, end := context.WithCancelCause(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.otherCalls) == maxOtherCalls {
		p.otherCalls[0].end(fmt.Errorf("%w: at most %d", errTooManyOtherCalls, maxOtherCalls))
		p.otherCalls = slices.Delete(p.otherCalls, 0, 1)
	}
	entry := &otherCall{end}
	p.otherCalls = append(p.otherCalls, entry)
	ctx = context.WithValue(ctx, otherCallKey{}, entry)
	context.AfterFunc(ctx, func() { p.untrackOther(ctx) }) // the call has ended
	return ctx, nil
}

// untrackOther removes a call from the other calls: it has ended, or belongs to the registered RM, which has a bound of
// its own for it.
func (p *Proxy) untrackOther(ctx context.Context) {
	entry, _ := ctx.Value(otherCallKey{}).(*otherCall)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.otherCalls = slices.DeleteFunc(p.otherCalls, func(x *otherCall) bool { return x == entry })
}

// otherCall is an open call or stream of another service.
type otherCall struct{ end context.CancelCauseFunc }

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
