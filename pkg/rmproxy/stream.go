package rmproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// After the RM has said that it will send no more, its stream stays open while answers
// keep coming: until none came for lingerQuiet, but no longer than lingerMost.
const (
	lingerQuiet = 100 * time.Millisecond
	lingerMost  = 5 * time.Second
)

// Why a stream ends.
var (
	errReplaced = errors.New("a newer stream of the same kind was opened")
	errFinished = errors.New("the resource manager has finished")
	errEarlier  = errors.New("the stream was opened before the resource manager registered: open a new one")
)

// line is one open stream. A reader and a writer work beside the handler, which waits
// for the first reason to end: only its return stops a reader or a writer that waits
// for the peer.
type line struct {
	p    *Proxy
	kind kind
	wire grpc.ServerStream
	in   *messageReader

	ctx     context.Context // ends with the stream; its cause says why
	cut     context.CancelCauseFunc
	last    chan struct{} // closed when the RM will say no more
	written chan struct{} // closed when the writer has ended, or never begins

	silent *silent
	s      *session // once the first message has said whose it is
	warned bool     // about an old interface
}

// serve handles one stream until it ends.
func (p *Proxy) serve(wire grpc.ServerStream, k kind) error {
	l := &line{p: p, kind: k, wire: wire, last: make(chan struct{}), written: make(chan struct{})}
	l.ctx, l.cut = context.WithCancelCause(wire.Context())
	l.in = newMessageReader(p, l.ctx, l.cut)
	defer context.AfterFunc(p.over, func() { l.cut(ErrClosed) })()
	l.silent = p.listen(l.cut, false)
	defer p.unlisten(l.silent)
	if !p.spawn(l.read) {
		return toStatus(ErrClosed)
	}
	<-l.ctx.Done()
	cause := context.Cause(l.ctx)
	if errors.Is(cause, errFinished) {
		return nil
	}
	p.log.Debug("stream ended", zap.String("stream", k.String()), zap.Error(cause))
	return toStatus(cause)
}

// read takes messages until the RM has no more or the stream ends.
func (l *line) read() {
	defer l.in.release()
	defer l.recover()
	m := l.kind.request() // the same for every message of the stream
	err := l.first(m)
	for err == nil {
		err = l.next(m)
	}
	switch {
	case l.ctx.Err() != nil: // a stream that was ended looks to its reader like one that is over
	case errors.Is(err, io.EOF) && l.s != nil:
		close(l.last)
	case errors.Is(err, io.EOF):
		l.cut(errFinished)
	default:
		l.cut(err)
	}
}

// first takes the first message, which opens the stream. Whose it is comes before anything
// else about it.
func (l *line) first(m request) error {
	inTime := l.p.first(l.cut)
	n, err := l.in.length()
	inTime() // from now on it has the time that a message of its length has
	if err != nil {
		return err
	}
	if n > unregisteredBytes && l.p.current() == nil {
		return fmt.Errorf("received %s of %d bytes, but no resource manager is %w: at most %d bytes are read until then",
			l.kind, n, ErrNotRegistered, unregisteredBytes)
	}
	b, err := l.in.bytes(n, l.p.room.strangers)
	if err != nil {
		return err
	}
	rm, err := senderOf(b, requestShapes[l.kind])
	if err != nil {
		return malformed(err)
	}
	if err := l.admit(nameOf(rm)); err != nil {
		return err
	}
	l.p.unlisten(l.silent)
	return l.take(b, m)
}

// next takes the next message.
func (l *line) next(m request) error {
	n, err := l.in.length()
	if err != nil {
		return err
	}
	b, err := l.in.bytes(n, l.p.room.received)
	if err != nil {
		return err
	}
	return l.take(b, m)
}

// take decodes a message, takes it, and waits until there may be another one.
func (l *line) take(b []byte, m request) error {
	done, err := l.in.decode(b, requestShapes[l.kind], m)
	l.in.release()
	if err == nil {
		err = l.takeDecoded(m)
	}
	m.Reset() // now rather than with the next message, which may be long in coming
	done()
	if err != nil {
		return err
	}
	// A core that is behind makes the RM wait: what is not read here fills the window of the
	// stream.
	if err := l.p.wait(l.ctx); err != nil {
		return err
	}
	if err := l.s.waitInLobby(l.ctx); err != nil {
		return err
	}
	return l.s.waitForReader(l.ctx)
}

func (l *line) takeDecoded(m request) error {
	if rm := m.GetRmID(); rm != "" && rm != l.s.rm {
		return fmt.Errorf("%w: the stream belongs to RM %s, not to %q", ErrRequest, l.s.rm, clip(rm))
	}
	l.warn(m)
	return l.s.take(m)
}

// recover is the last resort when a message breaks the door: the interceptors of the
// server do not see this goroutine.
func (l *line) recover() {
	if r := recover(); r != nil {
		l.p.log.Error("panic in a stream", zap.String("stream", l.kind.String()), zap.Any("panic", r),
			zap.Stack("stack"))
		l.cut(fmt.Errorf("the scheduler could not take a message"))
	}
}

// admit opens the stream for the RM that its first message names.
func (l *line) admit(rm string) error {
	if rm == "" {
		return fmt.Errorf("%w: the first message of a stream must have an rmID", ErrRequest)
	}
	s, err := l.p.session(rm, l.kind.String())
	if err != nil {
		return err
	}
	if s.registration != l.silent.registration {
		return errEarlier
	}
	old, ok := s.open(l)
	if !ok {
		return context.Cause(s.over)
	}
	if old != nil {
		old.cut(errReplaced)
	}
	l.s = s
	if !l.p.spawn(func() { l.write(old) }) {
		return ErrClosed
	}
	return nil
}

// write tells what waits in the outbox, after the stream before this one has given
// back what it could not tell.
func (l *line) write(old *line) {
	defer close(l.written)
	defer l.s.leave(l)
	if old != nil {
		<-old.written
	}
	box, wording := l.s.boxes[l.kind], l.s.wording(l.kind)
	var quiet <-chan time.Time
	var most time.Time
	last := l.last
	for l.ctx.Err() == nil {
		if batch := box.take(); batch != nil {
			if err := l.wire.SendMsg(wording(batch)); err != nil {
				box.failed()
				l.cut(err)
				return
			}
			box.done()
			if quiet != nil {
				quiet = time.After(lingerQuiet)
			}
			if !most.IsZero() && time.Now().After(most) {
				l.cut(errFinished)
			}
			continue
		}
		select {
		case <-box.bell:
		case <-last:
			last, quiet, most = nil, time.After(lingerQuiet), time.Now().Add(lingerMost)
		case <-quiet:
			l.cut(errFinished)
		case <-l.ctx.Done():
		}
	}
}

// warn says once per stream when the RM uses fields that the interface has dropped: it
// would wait for ever for answers to them.
func (l *line) warn(m request) {
	if l.warned || !speaksOld(m) {
		return
	}
	l.warned = true
	l.s.p.ignored[ignoredField].Add(1)
	l.s.log.Warn("the shim speaks an older scheduler interface: some of what it sends is not understood",
		zap.String("stream", l.kind.String()))
}

// speaksOld reports whether an allocation message has fields that are not known any
// more, such as the asks and ask releases of the interfaces 1.0 to 1.5.
func speaksOld(m request) bool {
	a, ok := m.(*leanRequest)
	return ok && a.Unknown
}

// request is a message from an RM.
type request interface {
	proto.Message
	GetRmID() string
	Reset()
}

func (k kind) String() string {
	return [...]string{"NodeRequest", "ApplicationRequest", "AllocationRequest"}[k]
}

// request makes an empty message of the kind.
func (k kind) request() request {
	switch k {
	case nodes:
		return &si.NodeRequest{}
	case applications:
		return &si.ApplicationRequest{}
	}
	return newLeanRequest()
}

// take serves a message of any kind. An error means that nothing of it was taken, which
// happens to a linked shim only: a stream is not read meanwhile (waitInLobby).
func (s *session) take(m request) error {
	switch m := m.(type) {
	case *si.NodeRequest:
		return s.takeNodes(m)
	case *si.ApplicationRequest:
		return s.takeApplications(m)
	case *si.AllocationRequest:
		return s.takeAllocations(s.uncoded(m))
	case *leanRequest:
		return s.takeAllocations(&m.AllocationRequest)
	}
	panic(fmt.Sprintf("rmproxy: a message that no door takes: %T", m))
}
