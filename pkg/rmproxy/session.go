package rmproxy

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/loop"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// session is one registration of a resource manager. It turns what the RM says into
// commands and keeps what the RM must be told, until it is told or the session ends.
type session struct {
	p              *Proxy
	rm             string
	log            *zap.Logger
	registration   uint64 // its number, from 1; set before anything else knows the session
	sharesMessages bool   // messages belong to the RM, which may change them later

	// What waits to be told, by kind. The in-process door has one outbox for all kinds,
	// and only for what the door itself answers: effects are told by whoever brings them.
	outboxes       [streamKinds]*outbox
	maxUndelivered uint64 // bytes of answers about allocations beyond which Deliver waits

	ctx    context.Context // ends with the session; its cause says why
	cancel context.CancelCauseFunc

	shim *shimCallback // of the in-process door; nil: answers go to streams

	ignoredLogged [ignoredKinds]atomic.Bool // what was ignored and logged

	mu      sync.Mutex // guards the rest, and that nothing is sent after the end
	streams [streamKinds]*rmStream
	lookups pendingLookups
	connection
}

// newSession returns the session of a gRPC door.
func newSession(p *Proxy, rm string) *session {
	s := &session{p: p, rm: rm, log: p.log.With(zap.String("rm", rm)), maxUndelivered: uint64(p.opt.Limits.UndeliveredBytes) / 4}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	for k := range s.outboxes {
		s.outboxes[k] = newOutbox()
	}
	s.lastStreamEnd, s.finished = p.clock(), false
	s.mu.Lock()
	defer s.mu.Unlock()
	s.startGraceTimer()
	return s
}

// close ends the session and its streams. When it returns, no command of the session
// can reach a partition any more, and nobody waits for the RM.
func (s *session) close(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel(cause)
	if s.graceTimer != nil {
		s.graceTimer.Stop()
	}
	if s.shim == nil {
		s.p.cluster.SetListening(false)
	}
	for _, l := range s.streams {
		if l != nil {
			l.cancel(cause)
		}
	}
}

// ended reports whether the session is over.
func (s *session) ended() bool { return s.ctx.Err() != nil }

// deliver takes effects to the RM, in order. A linked shim has been told when it returns.
// For streams it puts them in the outboxes, and waits while too many answers about
// allocations are there: decisions, which make them, wait too then. A stream that reads none
// of them for too long is ended. They stay for the next one.
func (s *session) deliver(partition string, effects []scheduler.Effect) {
	if s.ended() {
		return
	}
	if s.shim != nil {
		s.deliverByCallback(partition, effects)
		return
	}
	answers := s.outboxes[allocationStream]
	in := uint64(0) // how far answers must be told
	for len(effects) > 0 {
		kind, n := listOf(effects[0]).kind(), 1
		for n < len(effects) && listOf(effects[n]).kind() == kind {
			n++
		}
		count := s.outboxes[kind].put(partition, effects[:n]...)
		if kind == allocationStream {
			in = count
		}
		effects = effects[n:]
	}
	for {
		err := answers.waitBelow(s.ctx, in, s.maxUndelivered, s.p.opt.Limits.UndeliveredTimeout)
		if !errors.Is(err, errNotReading) {
			return
		}
		s.cancelUnreadStream(allocationStream, err)
	}
}

// cancelUnreadStream ends the stream of a kind, whose answers are not read.
func (s *session) cancelUnreadStream(k streamKind, cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.streams[k]; l != nil && l.ctx.Err() == nil {
		s.log.Warn("stream ended: its answers are not read", zap.String("stream", k.String()), zap.Error(cause))
		l.cancel(cause)
	}
}

// waitForReader blocks while more answers wait than an RM may leave unread: what it does not
// read, of any kind, it may not add to. A stream that makes no progress for too long is ended,
// and so is the one that waits for it.
func (s *session) waitForReader(ctx context.Context) error {
	l := &s.p.opt.Limits
	for k, box := range s.outboxes {
		err := box.waitBelow(ctx, math.MaxUint64, uint64(l.UndeliveredBytes), l.UndeliveredTimeout)
		if errors.Is(err, errNotReading) {
			s.cancelUnreadStream(streamKind(k), err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// dropUndelivered drops what a partition said and the RM has not heard yet.
func (s *session) dropUndelivered(partition string) {
	for _, b := range s.outboxes {
		b.drop(partition)
	}
}

// partition finds a partition by the name the RM uses: bare, or with its own ID in
// front (behaviour.md 10.2).
func (s *session) partition(name string) (bare string, l *loop.Loop, ok bool) {
	bare = s.bareName(name)
	l, ok = s.p.cluster.Partition(bare)
	return bare, l, ok
}

func (s *session) bareName(name string) string {
	if name == "" {
		return defaultPartition
	}
	return strings.TrimPrefix(name, "["+s.rm+"]")
}

// partitionName is a partition's name as the RM hears it.
func (s *session) partitionName(bare string) string { return "[" + s.rm + "]" + bare }

const defaultPartition = "default"

// attachStream makes l the stream of its kind, and returns the one it replaces. ok is false
// when the session is over.
func (s *session) attachStream(l *rmStream) (replaced *rmStream, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended() {
		return nil, false
	}
	replaced, s.streams[l.kind] = s.streams[l.kind], l
	s.noteStreamOpened()
	if l.kind == allocationStream {
		s.p.cluster.SetListening(true)
	}
	return replaced, true
}

// detachStream forgets a stream that has ended, if it was not replaced before.
func (s *session) detachStream(l *rmStream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams[l.kind] != l || s.ended() {
		return
	}
	s.streams[l.kind] = nil
	if l.kind == allocationStream {
		s.p.cluster.SetListening(false)
	}
	select {
	case <-l.readDone:
		s.noteStreamClosed(true)
	default:
		s.noteStreamClosed(false)
	}
}
