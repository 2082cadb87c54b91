package rmproxy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"
)

// An RM is connected while it has a stream, or a linked shim has it; and for graceConnected
// after it registered or its last stream ended. Decisions are made only while it has the stream
// on which they are told (ADR 36).
const (
	// graceConnected is how long an RM without a stream counts as connected.
	graceConnected = 10 * time.Second
	// graceLeft is how long an RM that has ended all of its streams itself may come back before
	// another may take its place. A registration of another waits so long.
	graceLeft = 2 * time.Second
)

// Reasons that Release refuses.
var ErrConnected = errors.New("the resource manager is connected") // and force is not set

var errReleased = errors.New("the resource manager was released by an administrator")

// Presence is whether a registered RM is there.
type Presence struct {
	Registration
	InProcess bool // a linked shim: always connected
	Connected bool
	Since     time.Time // when it connected, or its last stream ended
	Listening bool      // it has the stream on which decisions are told
	Streams   []string  // the kinds of streams it has
	Waiting   uint64    // bytes of answers that it has not read

	// Replaceable is when another RM may register in its place; zero: not while it is connected.
	Replaceable time.Time
}

// Presence says whether the registered RM is there. ok is false when none is registered.
func (p *Proxy) Presence() (out Presence, ok bool) {
	p.mu.Lock()
	s, record := p.current(), p.record
	p.mu.Unlock()
	if s == nil {
		return out, false
	}
	out = Presence{Registration: record, InProcess: s.caller != nil, Connected: true, Since: record.At, Listening: true}
	if out.InProcess {
		return out, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out.Listening = s.lines[allocations] != nil
	for k, l := range s.lines {
		out.Waiting += s.boxes[k].waiting()
		if l != nil {
			out.Streams = append(out.Streams, kind(k).String())
		}
	}
	out.Since = s.since
	if len(out.Streams) == 0 {
		out.Connected, out.Since = !s.away, s.last
		out.Replaceable = s.replaceable()
	}
	return out, true
}

// presence is what a session knows of the streams of its RM. Guarded by session.mu.
type presence struct {
	since time.Time   // the first of the streams that are open began; without any: of those before
	last  time.Time   // the last stream ended, or the RM registered
	away  bool        // there was no stream for graceConnected
	left  bool        // the RM itself has ended all streams that it had
	grace *time.Timer // until away; nil: it has streams, or is away
}

// streams counts the streams that are open. Requires: s.mu.
func (s *session) streams() (n int) {
	for _, l := range s.lines {
		if l != nil {
			n++
		}
	}
	return n
}

// connected notes that a stream is open. Requires: s.mu, and s.lines has it.
func (s *session) connected() {
	if s.streams() > 1 {
		return
	}
	s.since, s.left = s.p.clock(), true
	if s.grace != nil {
		s.grace.Stop()
		s.grace = nil
	}
	if s.away {
		s.away = false
		s.log.Info("resource manager connected again", zap.Duration("away", s.since.Sub(s.last)))
	}
}

// disconnected notes that a stream has ended, and whether the RM itself has ended it. Requires:
// s.mu, and s.lines does not have it any more.
func (s *session) disconnected(byRM bool) {
	s.left = s.left && byRM
	if s.streams() > 0 {
		return
	}
	s.last = s.p.clock()
	s.awaitStream()
}

// awaitStream gives the RM graceConnected to open a stream. Requires: s.mu.
func (s *session) awaitStream() {
	s.grace = time.AfterFunc(graceConnected, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.ended() || s.streams() > 0 {
			return
		}
		s.away, s.grace = true, nil
		s.p.disconnects.Add(1)
		s.log.Warn("resource manager disconnected: nothing is placed and nothing is preempted until it opens its streams again",
			zap.Time("since", s.last), zap.Bool("finished", s.left), zap.Time("replaceable", s.replaceable()))
	})
}

// replaceable is when another RM may register in place of one without streams. Requires: s.mu.
func (s *session) replaceable() time.Time {
	if s.left {
		return s.last.Add(graceLeft)
	}
	return s.last.Add(s.p.opt.Limits.Disconnected)
}

// mayReplace says why another RM may not register in place of this one. wait is how long until it
// may; 0: that is not known.
func (s *session) mayReplace() (wait time.Duration, err error) {
	if s.caller != nil {
		return 0, fmt.Errorf("%w: registration of RM failed: RM %s has been registered before, active partitions %d",
			ErrOtherRM, s.rm, len(s.p.cluster.Partitions()))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams() > 0 {
		return 0, fmt.Errorf("%w: registration of RM failed: RM %s has been registered before, active partitions %d, and is connected",
			ErrOtherRM, s.rm, len(s.p.cluster.Partitions()))
	}
	if wait = s.replaceable().Sub(s.p.clock()); wait > 0 {
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
	wait, _ := s.mayReplace()
	if wait <= 0 || wait > graceLeft {
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
	p.changing.Lock()
	defer p.changing.Unlock()
	s := p.current()
	if s == nil || s.rm != rm {
		return fmt.Errorf("RM %q is %w", clip(rm), ErrNotRegistered)
	}
	if is, _ := p.Presence(); len(is.Streams) > 0 && !force {
		return fmt.Errorf("%w: RM %s", ErrConnected, rm)
	}
	p.mu.Lock()
	p.now.Store(nil)
	p.mu.Unlock()
	s.close(errReleased)
	p.log.Warn("resource manager released by an administrator", zap.String("rm", rm), zap.Bool("forced", force))
	return nil
}
