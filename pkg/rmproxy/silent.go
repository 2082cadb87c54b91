package rmproxy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

var (
	errSilent  = errors.New("no first message")
	errTooSlow = errors.New("too slow")
	errCrowded = errors.New("too many streams without a first message are open")
)

// silence is the streams, and calls, whose first message has not come, the oldest first.
// Guarded by Proxy.mu.
type silence struct {
	streams []*silent
	ended   uint64 // how many were ended in favour of newer ones
}

// silent is a stream whose first message has not come.
type silent struct {
	cut          context.CancelCauseFunc
	registration uint64 // in force when it was opened; 0: none
	isCall       bool   // it belongs to no registration: it makes one
}

// listen takes a new stream among the silent ones. When there are too many, the oldest is
// ended: a peer that means it speaks at once, and so is not kept out by peers that do not.
func (p *Proxy) listen(cut context.CancelCauseFunc, isCall bool) *silent {
	p.mu.Lock()
	defer p.mu.Unlock()
	x := &silent{cut, p.registrations, isCall}
	if most := p.opt.Limits.SilentStreams; len(p.silence.streams) >= most {
		p.silence.streams[0].cut(fmt.Errorf("%w: at most %d", errCrowded, most))
		p.silence.streams = slices.Delete(p.silence.streams, 0, 1)
		p.silence.ended++
	}
	p.silence.streams = append(p.silence.streams, x)
	return x
}

// unlisten takes a stream out: it has spoken, or ended.
func (p *Proxy) unlisten(x *silent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.silence.streams, x); i >= 0 {
		p.silence.streams = slices.Delete(p.silence.streams, i, i+1)
	}
}

// endSilent ends the streams that were opened before the registration in force. Requires: p.mu.
func (p *Proxy) endSilent() {
	p.silence.streams = slices.DeleteFunc(p.silence.streams, func(x *silent) bool {
		if !x.isCall {
			x.cut(errEarlier)
		}
		return !x.isCall
	})
}

// first ends a stream unless it is stopped before the time for a first message is over.
func (p *Proxy) first(cut context.CancelCauseFunc) (stop func() bool) {
	most := p.opt.Limits.FirstMessage
	return time.AfterFunc(most, func() { cut(fmt.Errorf("%w came within %v", errSilent, most)) }).Stop
}
