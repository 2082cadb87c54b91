package rmproxy

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// session is one registration of a resource manager (RMI-3). It turns messages of the RM into
// commands, and keeps effects until they are delivered or the session ends.
type session struct {
	p              *Proxy
	rm             string
	log            *zap.Logger
	registration   uint64 // its number, from 1; set before other goroutines have the session
	sharesMessages bool   // messages belong to the RM, which may change them later

	// Undelivered effects by kind of stream. The in-process API has one outbox for all kinds, for
	// answers of the API itself only; effects of partitions are delivered directly.
	outboxes       [streamKinds]*outbox
	sent           [streamKinds]*sentLog // nil for the in-process API
	maxUndelivered uint64                // bytes of undelivered effects about allocations beyond which deliver waits

	ctx    context.Context // ends with the session; its cause says why
	cancel context.CancelCauseFunc

	shim    *shimCallback                 // of the in-process API; nil: effects go to streams
	waiting atomic.Pointer[waitingStates] // of the in-process API, or of the stream of hints; nil: nobody wants them

	legacy legacyInterface

	ignoredLogged [ignoredKinds]atomic.Bool // kinds of ignored elements that have been logged

	mu      sync.Mutex // guards the fields below, and that no command is sent after the end
	streams [streamKinds]*rmStream
	watch   *waitingWatch // the stream of hints; nil: there is none
	lookups pendingLookups
	connection
}

// newSession returns the session of the gRPC API.
func newSession(p *Proxy, rm string) *session {
	s := &session{p: p, rm: rm, log: p.log.With(zap.String("rm", rm)),
		maxUndelivered: uint64(p.opt.Limits.UndeliveredBytes) / 4}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	for k := range s.outboxes {
		s.outboxes[k], s.sent[k] = newOutbox(), new(sentLog)
	}
	s.lastStreamEnd, s.finished = p.clock(), false
	s.mu.Lock()
	defer s.mu.Unlock()
	s.startGraceTimer()
	return s
}

// close ends the session and its streams (RMI-13). After it, no command of the session reaches a
// partition, and no goroutine waits for the RM.
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
	if s.watch != nil {
		s.watch.cancel(cause)
	}
}

// ended reports whether the session is over.
func (s *session) ended() bool { return s.ctx.Err() != nil }

// deliver delivers effects to the RM, in order (RMI-45). For a linked shim it returns after the
// callbacks. For streams it puts the effects into the outboxes, and waits while too many effects
// about allocations are undelivered, which pauses scheduling. If the RM reads none of them for too
// long, the allocation stream is ended; the effects stay for the next stream.
func (s *session) deliver(partition string, effects []scheduler.Effect) {
	if s.ended() {
		return
	}
	if s.shim != nil {
		s.deliverByCallback(partition, effects)
		return
	}
	answers := s.outboxes[allocationStream]
	in := s.queue(partition, s.withoutExisting(effects)) // bytesIn up to which effects about allocations must be delivered
	for {
		err := answers.waitBelow(s.ctx, in, s.maxUndelivered, s.p.opt.Limits.UndeliveredTimeout)
		if !errors.Is(err, errNotReading) {
			return
		}
		s.cancelUnreadStream(allocationStream, err)
	}
}

// cancelUnreadStream ends the stream of a kind, whose answers are not read (RMI-47).
func (s *session) cancelUnreadStream(k streamKind, cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.streams[k]; l != nil && l.ctx.Err() == nil {
		s.log.Warn("stream ended: its answers are not read", zap.String("stream", k.String()), zap.Error(cause))
		l.cancel(cause)
	}
}

// answersTo are the kinds of answers that the messages of a kind may lead to. No other message leads
// to answers about nodes.
var answersTo = [streamKinds][]streamKind{
	nodeStream:        {nodeStream, allocationStream},        // the removal of a node releases
	applicationStream: {applicationStream, allocationStream}, // the removal of an application releases
	allocationStream:  {applicationStream, allocationStream}, // the state of an application changes
}

// waitForReader blocks a stream while more answers of a kind that its messages lead to are unread than
// allowed: an RM that does not read is not read either (RMI-46). A stream without progress for too long
// is ended, and so is the stream that waits for it.
func (s *session) waitForReader(ctx context.Context, stream streamKind) error {
	l := &s.p.opt.Limits
	for _, k := range answersTo[stream] {
		err := s.outboxes[k].waitBelow(ctx, math.MaxUint64, uint64(l.UndeliveredBytes), l.UndeliveredTimeout)
		if errors.Is(err, errNotReading) {
			s.cancelUnreadStream(k, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// dropUndelivered drops the undelivered effects of a partition.
func (s *session) dropUndelivered(partition string) {
	for _, b := range s.outboxes {
		b.drop(partition)
	}
}

// partition looks up a partition by the name that the RM uses: bare, or with its own ID in front.
func (s *session) partition(name string) (bare string, l *loop.Loop, ok bool) {
	bare = s.bareName(name)
	l, ok = s.p.cluster.Partition(bare)
	return bare, l, ok
}

// bareName is the name of a partition without the ID of the RM in front; an empty name is "default"
// (APP-18, RMI-4).
func (s *session) bareName(name string) string {
	if name == "" {
		return defaultPartition
	}
	return strings.TrimPrefix(name, "["+s.rm+"]")
}

// partitionName is the full name of a partition in messages to the RM: [rmID]name (RMI-4).
func (s *session) partitionName(bare string) string { return "[" + s.rm + "]" + bare }

const defaultPartition = "default"

// attachStream makes l the stream of its kind, and returns the stream that it replaces. ok is false
// after the end of the session (RMI-18, RMI-26, RMI-58).
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

// detachStream removes a stream that has ended, unless it was replaced before (ORD-12).
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
