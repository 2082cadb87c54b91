package rmproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/canopy-scheduler/canopy/internal/server/auth"
)

// After the RM has half-closed a stream, it stays open while answers come (RMI-28): until none came for
// lingerIdle, but no longer than lingerMax.
const (
	lingerIdle = 100 * time.Millisecond
	lingerMax  = 5 * time.Second
)

// Reasons why a stream ends.
var (
	errReplaced                 = errors.New("a newer stream of the same kind was opened")
	errFinished                 = errors.New("the resource manager has finished")
	errOpenedBeforeRegistration = errors.New(
		"the stream was opened before the resource manager registered: open a new one")
)

// rmStream is one open stream. A reader and a writer goroutine work next to the handler, which
// waits for the first reason to end: only its return ends a read or a write that blocks.
type rmStream struct {
	p          *Proxy
	kind       streamKind
	grpcStream grpc.ServerStream
	reader     *messageReader

	ctx        context.Context // ends with the stream; its cause says why
	cancel     context.CancelCauseFunc
	readDone   chan struct{} // closed when the RM has half-closed the stream
	writerDone chan struct{} // closed when the writer has ended

	silentEntry *silentStream
	session     *session // set by the first message
	warned      bool     // about unknown fields
}

// serveStream handles one stream until it ends.
func (p *Proxy) serveStream(grpcStream grpc.ServerStream, k streamKind) error {
	stream := &rmStream{p: p, kind: k, grpcStream: grpcStream, readDone: make(chan struct{}),
		writerDone: make(chan struct{})}
	stream.ctx, stream.cancel = context.WithCancelCause(grpcStream.Context())
	stream.reader = &messageReader{p: p, ctx: stream.ctx, stream: grpcStream}
	defer context.AfterFunc(p.ctx, func() { stream.cancel(ErrClosed) })()
	stream.silentEntry = p.trackSilent(stream.ctx, stream.cancel, false)
	defer p.untrackSilent(stream.silentEntry)
	if !p.spawn(stream.read) {
		return toStatus(ErrClosed)
	}
	<-stream.ctx.Done()
	cause := context.Cause(stream.ctx)
	if errors.Is(cause, errFinished) {
		return nil
	}
	p.log.Debug("stream ended", zap.String("stream", k.String()), zap.Error(cause))
	return toStatus(cause)
}

// read handles messages until the RM half-closes the stream or the stream ends.
func (l *rmStream) read() {
	defer l.reader.release()
	defer l.recover()
	m := &request{kind: l.kind} // reused for all messages of the stream
	err := l.readFirst(m)
	for err == nil {
		err = l.readNext(m)
	}
	switch {
	case l.ctx.Err() != nil: // the stream was ended: the error of the read does not matter
	case errors.Is(err, io.EOF) && l.session != nil:
		close(l.readDone)
	case errors.Is(err, io.EOF):
		l.cancel(errFinished)
	default:
		l.cancel(err)
	}
}

// readFirst handles the first message, which opens the stream (RMI-24, RMI-36). The sender is
// checked before the rest of the message is decoded.
func (l *rmStream) readFirst(m *request) error {
	stopTimer := l.p.firstMessageTimeout(l.cancel)
	b, err := l.receive(l.p.memory.unidentified)
	stopTimer()
	if err != nil {
		return err
	}
	rm, err := senderID(b, requestShapes[l.kind])
	if err != nil {
		return err
	}
	if err := l.p.checkRM(l.ctx, rmIDOf(rm)); err != nil && len(rm) > 0 {
		auth.LogRefusal(l.p.log, clientOf(l.ctx).address, l.kind.String(), err)
		return err
	}
	if err := l.identify(rmIDOf(rm)); err != nil {
		return err
	}
	l.p.untrackSilent(l.silentEntry)
	return l.handle(b, m)
}

// readNext handles the next message (RMI-32).
func (l *rmStream) readNext(m *request) error {
	b, err := l.receive(l.p.memory.received)
	if err != nil {
		return err
	}
	return l.handle(b, m)
}

// receive waits for the next message (RMI-37).
func (l *rmStream) receive(budget *semaphore.Weighted) ([]byte, error) {
	b, err := l.reader.receive(budget)
	if limit := l.p.opt.Limits.MessageBytes; len(b) > limit {
		return nil, fmt.Errorf("%w: the message has %d bytes, at most %d are allowed", ErrTooLarge, len(b), limit)
	}
	return b, err
}

// handle decodes and handles a message, and waits until the next one may be read (RMI-44).
func (l *rmStream) handle(b []byte, m *request) error {
	done, err := l.reader.acquireDecoding(b, requestShapes[l.kind])
	if err == nil {
		err = malformed(m.decode(b))
	}
	l.reader.release()
	if err == nil {
		err = l.handleDecoded(m)
	}
	m.reset() // now rather than at the next message, which may come late
	done()
	if err != nil {
		return err
	}
	// Back-pressure: a core that is behind makes the RM wait, as unread messages fill the flow-control window of the
	// stream.
	if err := l.p.waitForMailboxes(l.ctx); err != nil {
		return err
	}
	if err := l.session.waitForLookups(l.ctx); err != nil {
		return err
	}
	return l.session.waitForReader(l.ctx, l.kind)
}

// handleDecoded handles a decoded message, which must have the rmID of the stream or none (RMI-24).
func (l *rmStream) handleDecoded(m *request) error {
	if m.rm != "" && m.rm != l.session.rm {
		return fmt.Errorf("%w: the stream belongs to RM %s, not to %q", ErrRequest, l.session.rm, truncate(m.rm))
	}
	l.session.noteLegacy(m)
	l.warnUnknownFields(m)
	return m.handle(l.session)
}

// recover ends the stream after a panic: the interceptors of the server do not cover this goroutine
// (RMI-6).
func (l *rmStream) recover() {
	if r := recover(); r != nil {
		l.p.log.Error("panic in a stream", zap.String("stream", l.kind.String()), zap.Any("panic", r),
			zap.Stack("stack"))
		l.cancel(fmt.Errorf("the scheduler failed to handle a message"))
	}
}

// identify opens the stream for the RM that its first message names (RMI-14).
func (l *rmStream) identify(rm string) error {
	if rm == "" {
		return fmt.Errorf("%w: the first message of a stream must have an rmID", ErrRequest)
	}
	s, err := l.p.session(rm, l.kind.String())
	if err != nil {
		return err
	}
	if s.shim != nil {
		return errOtherAPI(s.rm, "in process")
	}
	if s.registration != l.silentEntry.registration {
		return errOpenedBeforeRegistration
	}
	old, ok := s.attachStream(l)
	if !ok {
		return context.Cause(s.ctx)
	}
	if old != nil {
		old.cancel(errReplaced)
	}
	l.session = s
	if !l.p.spawn(func() { l.write(old) }) {
		return ErrClosed
	}
	return nil
}

// write sends the effects of the outbox (RMI-26, RMI-28). It starts when the writer of the replaced
// stream has ended, which returns its unsent batch to the outbox.
func (l *rmStream) write(replaced *rmStream) {
	defer close(l.writerDone)
	defer l.session.detachStream(l)
	if replaced != nil {
		<-replaced.writerDone
	}
	box, encode := l.session.outboxes[l.kind], l.session.encoder(l.kind)
	sent := l.session.sent[l.kind]
	if err := l.resume(sent, encode); err != nil {
		l.cancel(err)
		return
	}
	var idle <-chan time.Time
	var deadline time.Time
	readDone := l.readDone
	for l.ctx.Err() == nil {
		if batch := box.takeBatch(); batch != nil {
			if err := l.grpcStream.SendMsg(encode(batch)); err != nil {
				box.failed()
				l.cancel(err)
				return
			}
			sent.add(batch)
			box.delivered()
			if idle != nil {
				idle = time.After(lingerIdle)
			}
			if !deadline.IsZero() && time.Now().After(deadline) {
				l.cancel(errFinished)
			}
			continue
		}
		select {
		case <-box.wake:
		case <-readDone:
			readDone, idle, deadline = nil, time.After(lingerIdle), time.Now().Add(lingerMax)
		case <-idle:
			l.cancel(errFinished)
		case <-l.ctx.Done():
		}
	}
}

// resume sends the position of the stream, if the RM asks for positions, and what it has not received (RMI-84).
func (l *rmStream) resume(sent *sentLog, encode func([]outboundEffect) any) error {
	from, asked := resumeFrom(l.grpcStream.Context())
	if !asked {
		return nil
	}
	at, missed := sent.begin(from)
	if err := l.grpcStream.SendHeader(metadata.Pairs(positionKey, at.String())); err != nil {
		return err
	}
	for _, batch := range missed {
		if err := l.grpcStream.SendMsg(encode(batch)); err != nil {
			return err
		}
	}
	return nil
}

// warnUnknownFields logs once per stream that the RM uses fields which no interface from 1.0 to 1.9 has: the RM
// would wait for answers to them for ever (RMI-30).
func (l *rmStream) warnUnknownFields(m *request) {
	if l.warned || !m.allocations.Unknown {
		return
	}
	l.warned = true
	l.session.p.ignored[ignoredField].Add(1)
	l.session.log.Warn("the shim uses fields that the scheduler interface does not have: they are ignored",
		zap.String("stream", l.kind.String()))
}

func (k streamKind) String() string {
	return [...]string{"NodeRequest", "ApplicationRequest", "AllocationRequest"}[k]
}
