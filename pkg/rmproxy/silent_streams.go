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

// silentStreams is the streams, and calls, whose first message has not come, the oldest first.
// Guarded by Proxy.mu.
type silentStreams struct {
	streams []*silentStream
	ended   uint64 // how many were ended in favour of newer ones
}

// silentStream is a stream whose first message has not come.
type silentStream struct {
	cancel       context.CancelCauseFunc
	registration uint64 // in force when it was opened; 0: none
	isCall       bool   // it belongs to no registration: it makes one
}

// trackSilent takes a new stream among the silent ones. When there are too many, the oldest is
// ended: a peer that means it speaks at once, and so is not kept out by peers that do not.
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

// untrackSilent takes a stream out: it has spoken, or ended.
func (p *Proxy) untrackSilent(entry *silentStream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.silent.streams, entry); i >= 0 {
		p.silent.streams = slices.Delete(p.silent.streams, i, i+1)
	}
}

// endSilentStreams ends the streams that were opened before the registration in force. Requires: p.mu.
func (p *Proxy) endSilentStreams() {
	p.silent.streams = slices.DeleteFunc(p.silent.streams, func(x *silentStream) bool {
		if !x.isCall {
			x.cancel(errOpenedBeforeRegistration)
		}
		return !x.isCall
	})
}

// firstMessageTimeout ends a stream unless it is stopped before the time for a first message is over.
func (p *Proxy) firstMessageTimeout(cancel context.CancelCauseFunc) (stop func() bool) {
	limit := p.opt.Limits.FirstMessageTimeout
	return time.AfterFunc(limit, func() { cancel(fmt.Errorf("%w came within %v", errNoFirstMessage, limit)) }).Stop
}
