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
	p            *Proxy
	rm           string
	log          *zap.Logger
	registration uint64 // its number, from 1; set before anything else knows the session
	borrows      bool   // messages belong to the RM, which may change them later

	// What waits to be told, by kind. The in-process door has one outbox for all kinds,
	// and only for what the door itself answers: effects are told by whoever brings them.
	boxes [kinds]*outbox
	bound uint64 // bytes of answers about allocations beyond which Deliver waits

	over context.Context // ends with the session; its cause says why
	end  context.CancelCauseFunc

	caller *caller // of the in-process door; nil: answers go to streams

	seen [ignoredKinds]atomic.Bool // what was ignored and logged

	mu    sync.Mutex // guards the rest, and that nothing is sent after the end
	lines [kinds]*line
	lobby lobby
	presence
}

// newSession returns the session of a gRPC door.
func newSession(p *Proxy, rm string) *session {
	s := &session{p: p, rm: rm, log: p.log.With(zap.String("rm", rm)), bound: uint64(p.opt.Limits.UndeliveredBytes) / 4}
	s.over, s.end = context.WithCancelCause(context.Background())
	for k := range s.boxes {
		s.boxes[k] = newOutbox()
	}
	s.last, s.left = p.clock(), false
	s.mu.Lock()
	defer s.mu.Unlock()
	s.awaitStream()
	return s
}

// close ends the session and its streams. When it returns, no command of the session
// can reach a partition any more, and nobody waits for the RM.
func (s *session) close(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(cause)
	if s.grace != nil {
		s.grace.Stop()
	}
	if s.caller == nil {
		s.p.cluster.SetListening(false)
	}
	for _, l := range s.lines {
		if l != nil {
			l.cut(cause)
		}
	}
}

// ended reports whether the session is over.
func (s *session) ended() bool { return s.over.Err() != nil }

// tell takes effects to the RM, in order. A linked shim has been told when it returns.
// For streams it puts them in the outboxes, and waits while too many answers about
// allocations are there: decisions, which make them, wait too then. A stream that reads none
// of them for too long is ended. They stay for the next one.
func (s *session) tell(partition string, effects []scheduler.Effect) {
	if s.ended() {
		return
	}
	if s.caller != nil {
		s.call(partition, effects)
		return
	}
	answers := s.boxes[allocations]
	in := uint64(0) // how far answers must be told
	for len(effects) > 0 {
		kind, n := listOf(effects[0]).kind(), 1
		for n < len(effects) && listOf(effects[n]).kind() == kind {
			n++
		}
		count := s.boxes[kind].put(partition, effects[:n]...)
		if kind == allocations {
			in = count
		}
		effects = effects[n:]
	}
	for {
		err := answers.wait(s.over, in, s.bound, s.p.opt.Limits.UndeliveredFor)
		if !errors.Is(err, errUnread) {
			return
		}
		s.cutUnread(allocations, err)
	}
}

// cutUnread ends the stream of a kind, whose answers are not read.
func (s *session) cutUnread(k kind, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.lines[k]; l != nil && l.ctx.Err() == nil {
		s.log.Warn("stream ended: its answers are not read", zap.String("stream", k.String()), zap.Error(why))
		l.cut(why)
	}
}

// waitForReader blocks while more answers wait than an RM may leave unread: what it does not
// read, of any kind, it may not add to. A stream that makes no progress for too long is ended,
// and so is the one that waits for it.
func (s *session) waitForReader(ctx context.Context) error {
	l := &s.p.opt.Limits
	for k, box := range s.boxes {
		err := box.wait(ctx, math.MaxUint64, uint64(l.UndeliveredBytes), l.UndeliveredFor)
		if errors.Is(err, errUnread) {
			s.cutUnread(kind(k), err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// forget drops what a partition said and the RM has not heard yet.
func (s *session) forget(partition string) {
	for _, b := range s.boxes {
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

// open makes l the stream of its kind, and returns the one it replaces. ok is false
// when the session is over.
func (s *session) open(l *line) (old *line, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended() {
		return nil, false
	}
	old, s.lines[l.kind] = s.lines[l.kind], l
	s.connected()
	if l.kind == allocations {
		s.p.cluster.SetListening(true)
	}
	return old, true
}

// leave forgets a stream that has ended, if it was not replaced before.
func (s *session) leave(l *line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lines[l.kind] != l || s.ended() {
		return
	}
	s.lines[l.kind] = nil
	if l.kind == allocations {
		s.p.cluster.SetListening(false)
	}
	select {
	case <-l.last:
		s.disconnected(true)
	default:
		s.disconnected(false)
	}
}
