package rmproxy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"
)

// An RM is connected while it has a stream, while it is a linked shim, and for disconnectGrace
// after it registered or its last stream ended. Decisions are made only while the RM listens,
// that is, while it has the allocation stream, on which decisions are delivered (ADR 36).
const (
	// disconnectGrace is the time for which an RM without a stream counts as connected (RMI-19).
	disconnectGrace = 10 * time.Second
	// finishedGrace is the time after an RM has half-closed all of its streams when another RM may
	// replace it (RMI-21). A registration of another RM waits for this time.
	finishedGrace = 2 * time.Second
)

var ErrConnected = errors.New("the resource manager is connected") // returned by Release without force

var errReleased = errors.New("the resource manager was released by an administrator")

// ConnectionStatus is the state of the connection of the registered RM.
type ConnectionStatus struct {
	Registration
	InProcess        bool // a linked shim: always connected
	Connected        bool
	Since            time.Time // when it connected, or its last stream ended
	Listening        bool      // it has the allocation stream, on which decisions are delivered
	Streams          []string  // the kinds of streams it has
	UndeliveredBytes uint64    // answers that it has not read

	// ReplaceableAt is the time from which another RM may register in its place; zero: not while it is connected.
	// With Limits.ReplaceConnected it is the time of the registration.
	ReplaceableAt time.Time
}

// ConnectionStatus returns the state of the connection. ok is false when no RM is registered
// (RMI-23).
func (p *Proxy) ConnectionStatus() (out ConnectionStatus, ok bool) {
	p.mu.Lock()
	s, record := p.current(), p.registered
	p.mu.Unlock()
	if s == nil {
		return out, false
	}
	out = ConnectionStatus{Registration: record, InProcess: s.shim != nil, Connected: true, Since: record.At,
		Listening: true}
	if out.InProcess {
		return out, true
	}
	if p.opt.Limits.ReplaceConnected {
		out.ReplaceableAt = record.At
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
		if out.ReplaceableAt.IsZero() {
			out.ReplaceableAt = s.replaceableAt()
		}
	}
	return out, true
}

// connection is the state of the streams of a session. Guarded by session.mu.
type connection struct {
	connectedSince time.Time   // begin of the first of the open streams; without any: of the last ones
	lastStreamEnd  time.Time   // end of the last stream, or the registration
	disconnected   bool        // there has been no stream for disconnectGrace
	finished       bool        // the RM half-closed every stream that it had
	graceTimer     *time.Timer // runs until disconnected is set; nil: a stream is open, or disconnected is set
}

// openStreams counts the open streams. The caller must hold s.mu.
func (s *session) openStreams() (n int) {
	for _, l := range s.streams {
		if l != nil {
			n++
		}
	}
	return n
}

// noteStreamOpened records that a stream was added to s.streams. The caller must hold s.mu.
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
		s.log.Info("resource manager connected again", zap.Duration("disconnectedFor", s.connectedSince.Sub(s.lastStreamEnd)))
	}
}

// noteStreamClosed records that a stream was removed from s.streams; byRM: the RM half-closed it.
// The caller must hold s.mu.
func (s *session) noteStreamClosed(byRM bool) {
	s.finished = s.finished && byRM
	if s.openStreams() > 0 {
		return
	}
	s.lastStreamEnd = s.p.clock()
	s.startGraceTimer()
}

// startGraceTimer marks the RM as disconnected after disconnectGrace without a stream (RMI-19). The
// caller must hold s.mu.
func (s *session) startGraceTimer() {
	s.graceTimer = time.AfterFunc(disconnectGrace, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.ended() || s.openStreams() > 0 {
			return
		}
		s.disconnected, s.graceTimer = true, nil
		s.p.disconnects.Add(1)
		s.log.Warn("resource manager disconnected: nothing is placed and nothing is preempted until it opens its streams "+
			"again",
			zap.Time("since", s.lastStreamEnd), zap.Bool("finished", s.finished), zap.Time("replaceable", s.replaceableAt()))
	})
}

// replaceableAt returns when another RM may replace this one, which has no streams (RMI-20). The caller
// must hold s.mu.
func (s *session) replaceableAt() time.Time {
	if s.finished {
		return s.lastStreamEnd.Add(finishedGrace)
	}
	return s.lastStreamEnd.Add(s.p.opt.Limits.DisconnectedTimeout)
}

// checkReplaceable returns an error if the RM by may not replace this one now. wait is the time until
// it may; 0: unknown (RMI-9, RMI-20, RMI-23, RMI-77).
func (s *session) checkReplaceable(by string) (wait time.Duration, err error) {
	if s.shim != nil {
		return 0, fmt.Errorf("%w: registration of RM failed: RM %s has been registered before, active partitions %d",
			ErrOtherRM, s.rm, len(s.p.cluster.Partitions()))
	}
	if s.p.mayReplaceConnected(by) {
		return 0, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.openStreams() > 0 {
		return 0,
			fmt.Errorf("%w: registration of RM failed: RM %s has been registered before, active partitions %d, and is connected",
				ErrOtherRM, s.rm, len(s.p.cluster.Partitions()))
	}
	wait = s.replaceableAt().Sub(s.p.clock())
	if wait > 0 {
		return wait, fmt.Errorf("%w: registration of RM failed: RM %s has been registered before, active partitions %d: "+
			"it is disconnected, and can be replaced in %v, or when an administrator releases it",
			ErrOtherRM, s.rm, len(s.p.cluster.Partitions()), wait.Round(time.Second))
	}
	return 0, nil
}

// awaitReplaceable waits until an RM that has just half-closed its streams may be replaced,
// finishedGrace at most (RMI-21).
func (p *Proxy) awaitReplaceable(ctx context.Context, rm string) {
	s := p.current()
	if s == nil || s.rm == rm {
		return
	}
	wait, _ := s.checkReplaceable(rm)
	if wait <= 0 || wait > finishedGrace {
		return
	}
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
}

// Release ends the registration of an RM: its streams end, and any RM may register (RMI-22). The
// nodes, applications and allocations stay until then, and nothing is scheduled. Errors:
// ErrNotRegistered, and ErrConnected if the RM has streams and force is false.
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
