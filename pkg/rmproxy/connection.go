package rmproxy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"
)

// An RM is connected while it has a stream, or a linked shim has it; and for disconnectGrace
// after it registered or its last stream ended. Decisions are made only while it has the stream
// on which they are told (ADR 36).
const (
	// disconnectGrace is how long an RM without a stream counts as connected.
	disconnectGrace = 10 * time.Second
	// finishedGrace is how long an RM that has ended all of its streams itself may come back before
	// another may take its place. A registration of another waits so long.
	finishedGrace = 2 * time.Second
)

// Reasons that Release refuses.
var ErrConnected = errors.New("the resource manager is connected") // and force is not set

var errReleased = errors.New("the resource manager was released by an administrator")

// ConnectionStatus is whether a registered RM is there.
type ConnectionStatus struct {
	Registration
	InProcess        bool // a linked shim: always connected
	Connected        bool
	Since            time.Time // when it connected, or its last stream ended
	Listening        bool      // it has the stream on which decisions are told
	Streams          []string  // the kinds of streams it has
	UndeliveredBytes uint64    // bytes of answers that it has not read

	// ReplaceableAt is when another RM may register in its place; zero: not while it is connected.
	ReplaceableAt time.Time
}

// ConnectionStatus says whether the registered RM is there. ok is false when none is registered.
func (p *Proxy) ConnectionStatus() (out ConnectionStatus, ok bool) {
	p.mu.Lock()
	s, record := p.current(), p.registered
	p.mu.Unlock()
	if s == nil {
		return out, false
	}
	out = ConnectionStatus{Registration: record, InProcess: s.shim != nil, Connected: true, Since: record.At, Listening: true}
	if out.InProcess {
		return out, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out.Listening = s.streams[allocationStream] != nil
	for k, l := range s.streams {
		out.UndeliveredBytes += s.outboxes[k].undeliveredBytes()
		if l != nil {
			out.Streams = append(out.Streams, streamKind(k).String())
		}
	}
	out.Since = s.connectedSince
	if len(out.Streams) == 0 {
		out.Connected, out.Since = !s.disconnected, s.lastStreamEnd
		out.ReplaceableAt = s.replaceableAt()
	}
	return out, true
}

// connection is what a session knows of the streams of its RM. Guarded by session.mu.
type connection struct {
	connectedSince time.Time   // the first of the streams that are open began; without any: of those before
	lastStreamEnd  time.Time   // the last stream ended, or the RM registered
	disconnected   bool        // there was no stream for disconnectGrace
	finished       bool        // the RM itself has ended all streams that it had
	graceTimer     *time.Timer // until away; nil: it has streams, or is away
}

// openStreams counts the streams that are open. Requires: s.mu.
func (s *session) openStreams() (n int) {
	for _, l := range s.streams {
		if l != nil {
			n++
		}
	}
	return n
}

// noteStreamOpened notes that a stream is open. Requires: s.mu, and s.lines has it.
func (s *session) noteStreamOpened() {
	if s.openStreams() > 1 {
		return
	}
	s.connectedSince, s.finished = s.p.clock(), true
	if s.graceTimer != nil {
		s.graceTimer.Stop()
		s.graceTimer = nil
	}
	if s.disconnected {
		s.disconnected = false
		s.log.Info("resource manager connected again", zap.Duration("away", s.connectedSince.Sub(s.lastStreamEnd)))
	}
}

// noteStreamClosed notes that a stream has ended, and whether the RM itself has ended it. Requires:
// s.mu, and s.lines does not have it any more.
func (s *session) noteStreamClosed(byRM bool) {
	s.finished = s.finished && byRM
	if s.openStreams() > 0 {
		return
	}
	s.lastStreamEnd = s.p.clock()
	s.startGraceTimer()
}

// startGraceTimer gives the RM disconnectGrace to open a stream. Requires: s.mu.
func (s *session) startGraceTimer() {
	s.graceTimer = time.AfterFunc(disconnectGrace, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.ended() || s.openStreams() > 0 {
			return
		}
		s.disconnected, s.graceTimer = true, nil
		s.p.disconnects.Add(1)
		s.log.Warn("resource manager disconnected: nothing is placed and nothing is preempted until it opens its streams again",
			zap.Time("since", s.lastStreamEnd), zap.Bool("finished", s.finished), zap.Time("replaceable", s.replaceableAt()))
	})
}

// replaceableAt is when another RM may register in place of one without streams. Requires: s.mu.
func (s *session) replaceableAt() time.Time {
	if s.finished {
		return s.lastStreamEnd.Add(finishedGrace)
	}
	return s.lastStreamEnd.Add(s.p.opt.Limits.DisconnectedTimeout)
}

// checkReplaceable says why another RM may not register in place of this one. wait is how long until it
// may; 0: that is not known.
func (s *session) checkReplaceable() (wait time.Duration, err error) {
	if s.shim != nil {
		return 0, fmt.Errorf("%w: registration of RM failed: RM %s has been registered before, active partitions %d",
			ErrOtherRM, s.rm, len(s.p.cluster.Partitions()))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.openStreams() > 0 {
		return 0, fmt.Errorf("%w: registration of RM failed: RM %s has been registered before, active partitions %d, and is connected",
			ErrOtherRM, s.rm, len(s.p.cluster.Partitions()))
	}
	if wait = s.replaceableAt().Sub(s.p.clock()); wait > 0 {
		return wait, fmt.Errorf("%w: registration of RM failed: RM %s has been registered before, active partitions %d: "+
			"it is disconnected, and can be replaced in %v, or when an administrator releases it",
			ErrOtherRM, s.rm, len(s.p.cluster.Partitions()), wait.Round(time.Second))
	}
	return 0, nil
}

// awaitReplaceable waits for an RM that has just left by itself to be replaceable.
func (p *Proxy) awaitReplaceable(ctx context.Context, rm string) {
	s := p.current()
	if s == nil || s.rm == rm {
		return
	}
	wait, _ := s.checkReplaceable()
	if wait <= 0 || wait > finishedGrace {
		return
	}
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
}

// Release ends the registration of an RM: its streams end, and another RM may register, or the
// same again. What it had stays in the books until then, and nothing is decided. Errors:
// ErrNotRegistered, and ErrConnected unless it is forced.
func (p *Proxy) Release(rm string, force bool) error {
	p.lifecycleMu.Lock()
	defer p.lifecycleMu.Unlock()
	s := p.current()
	if s == nil || s.rm != rm {
		return fmt.Errorf("RM %q is %w", truncate(rm), ErrNotRegistered)
	}
	if status, _ := p.ConnectionStatus(); len(status.Streams) > 0 && !force {
		return fmt.Errorf("%w: RM %s", ErrConnected, rm)
	}
	p.mu.Lock()
	p.currentSession.Store(nil)
	p.mu.Unlock()
	s.close(errReleased)
	p.log.Warn("resource manager released by an administrator", zap.String("rm", rm), zap.Bool("forced", force))
	return nil
}
