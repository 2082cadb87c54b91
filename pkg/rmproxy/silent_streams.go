package rmproxy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
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

// silentStream is a stream without a first message.
type silentStream struct {
	cancel       context.CancelCauseFunc
	registration uint64 // current when it was opened; 0: none
	isCall       bool   // a registration call, which belongs to no registration
}

// trackSilent adds a new stream to the silent ones (RMI-25). If there are too many, the oldest is
// ended, so that an RM that sends at once is not kept out by clients that do not send.
func (p *Proxy) trackSilent(cancel context.CancelCauseFunc, isCall bool) *silentStream {
	p.mu.Lock()
	defer p.mu.Unlock()
	entry := &silentStream{cancel, p.registrationCount, isCall}
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
