package chaos

import (
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/engine"
	"github.com/canopy-scheduler/canopy/pkg/rmproxy"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// kind is a kind of stream.
type kind int

const (
	nodeKind kind = iota
	appKind
	allocationKind
	streamKinds
)

// endpoint is a core that serves, and the connection to it.
type endpoint struct {
	t      *testing.T
	engine *engine.Engine
	proxy  *rmproxy.Proxy
	server *grpc.Server
	conn   *grpc.ClientConn
	served chan error
}

// newEndpoint starts a core. It must be in a bubble of package synctest.
func newEndpoint(t *testing.T) *endpoint {
	e := &endpoint{t: t, engine: engine.New(engine.Options{}), served: make(chan error, 1)}
	e.proxy = rmproxy.New(e.engine, rmproxy.Options{})
	e.engine.Start(nil)
	e.server = grpc.NewServer(e.proxy.ServerOptions()...)
	e.proxy.Register(e.server)
	listener := bufconn.Listen(1 << 20)
	var err error
	e.conn, err = grpc.NewClient("passthrough:///bubble", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	assert.NilError(t, err)
	go func() { e.served <- e.server.Serve(listener) }()
	synctest.Wait()
	return e
}

// stop ends the core. What it has not sent is lost.
func (e *endpoint) stop() {
	assert.NilError(e.t, e.conn.Close())
	e.proxy.Close()
	e.engine.End()
	e.server.Stop()
	<-e.served
}

func (e *endpoint) register(s *shim) {
	_, err := si.NewSchedulerClient(e.conn).RegisterResourceManager(e.t.Context(),
		&si.RegisterResourceManagerRequest{RmID: "rm", Config: recoveryConfig})
	if err != nil {
		s.fail("registration: %v", err)
	}
}

// snapshot checks the core, and returns its state.
func (e *endpoint) snapshot(s *shim) *scheduler.Snapshot {
	l, _ := e.proxy.Cluster().Partition("default")
	if err := l.Check(e.t.Context()); err != nil {
		s.fail("%v", err)
	}
	view, err := l.Snapshot(e.t.Context())
	assert.NilError(e.t, err)
	return view
}

// link is a stream of the shim, with the messages that are on their way in both directions.
type link struct {
	stream grpc.ClientStream // nil: not open
	cancel context.CancelFunc
	out    []proto.Message // to the core
	in     *inbox          // from the core
}

func newLink() *link { return &link{in: new(inbox)} }

// inbox is the answers that have arrived and that the shim has not read.
type inbox struct {
	mu       sync.Mutex
	messages []proto.Message
}

func (b *inbox) put(m proto.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.messages = append(b.messages, m)
}

func (b *inbox) len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.messages)
}

// take takes the first answer. Requires: there is one.
func (b *inbox) take() proto.Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.messages[0]
	b.messages = b.messages[1:]
	return m
}

func (l *link) enqueue(m proto.Message) { l.out = append(l.out, m) }

// open opens the streams that are not open.
func (s *shim) open() {
	for k, l := range s.link {
		if l.stream == nil {
			s.openStream(kind(k))
		}
	}
}

func (s *shim) openStream(k kind) {
	l, client := s.link[k], si.NewSchedulerClient(s.serve.conn)
	var ctx context.Context
	ctx, l.cancel = context.WithCancel(s.t.Context())
	var stream grpc.ClientStream
	var err error
	var hello proto.Message
	var answer func() proto.Message
	switch k {
	case nodeKind:
		stream, err = client.UpdateNode(ctx)
		hello, answer = &si.NodeRequest{RmID: "rm"}, func() proto.Message { return &si.NodeResponse{} }
	case appKind:
		stream, err = client.UpdateApplication(ctx)
		hello, answer = &si.ApplicationRequest{RmID: "rm"}, func() proto.Message { return &si.ApplicationResponse{} }
	default:
		stream, err = client.UpdateAllocation(ctx)
		hello, answer = &si.AllocationRequest{RmID: "rm"}, func() proto.Message { return &si.AllocationResponse{} }
	}
	if err == nil {
		err = stream.SendMsg(hello)
	}
	if err != nil {
		s.fail("stream %d does not open: %v", k, err)
	}
	l.stream = stream
	go func() {
		for m := answer(); stream.RecvMsg(m) == nil; m = answer() {
			l.in.put(m)
		}
	}()
	synctest.Wait()
}

// closeStream closes a stream. Answers that have arrived stay; what was to be sent is lost.
func (s *shim) closeStream(k kind) {
	l := s.link[k]
	if l.stream == nil {
		return
	}
	l.cancel()
	synctest.Wait()
	l.stream, l.out = nil, nil
}

// readAll handles the answers that came before a stream was closed. What has no answer then was lost.
func (s *shim) readAll(k kind) {
	for l := s.link[k]; l.in.len() > 0 && s.phase == live; {
		s.handle(l.in.take())
	}
	if k == nodeKind {
		clear(s.creating)
	}
}

// drop loses all streams with everything in them.
func (s *shim) drop() {
	for k := range s.link {
		s.closeStream(kind(k))
		s.link[k] = newLink()
	}
	s.phase = unregistered
}

// send lets the next messages of a stream arrive in the core, perhaps several as one.
func (s *shim) send(l *link) {
	m := l.out[0]
	l.out = l.out[1:]
	for len(l.out) > 0 && s.rng.IntN(3) == 0 && mergeable(m) && mergeable(l.out[0]) {
		proto.Merge(m, l.out[0])
		l.out = l.out[1:]
	}
	if err := l.stream.SendMsg(m); err != nil {
		s.fail("%v", err)
	}
	synctest.Wait()
}

// mergeable reports whether a message keeps its meaning in one message with others: removals of applications are
// applied after new ones.
func mergeable(m proto.Message) bool {
	a, ok := m.(*si.ApplicationRequest)
	return !ok || len(a.Remove) == 0
}

// transfer lets a message of a random stream arrive, in either direction. It reports whether there was one.
func (s *shim) transfer() bool {
	var can []func()
	for _, l := range s.link {
		if l.stream != nil && len(l.out) > 0 {
			can = append(can, func() { s.send(l) })
		}
		if l.in.len() > 0 {
			can = append(can, func() { s.handle(l.in.take()) })
		}
	}
	act, ok := pick(s, can)
	if ok {
		act()
	}
	return ok
}
