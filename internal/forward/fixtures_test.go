package forward

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testcert"
)

// self is the name of the member with the forwarder.
const self = "m1"

// window is that of streams of the client and of the scheduler. By default they grow, and then hold megabytes that are not read.
const window = 64 << 10

// routesFunc are Routes.
type routesFunc func(partition string) (Route, error)

func (f routesFunc) Route(partition string) (Route, error) { return f(partition) }

// recorded is a listener that knows its connections.
type recorded struct {
	net.Listener
	mu   sync.Mutex
	open []net.Conn
}

func (l *recorded) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.open = append(l.open, c)
	}
	return c, err
}

func (l *recorded) accepted() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.open)
}

// cut closes all connections, as the death of the server does.
func (l *recorded) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.open {
		_ = c.Close()
	}
}

// newTCPListener returns a listener on a free port.
func newTCPListener(t testing.TB) net.Listener {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	return l
}

// fake is a scheduler: the functions that are set.
type fake struct {
	si.UnimplementedSchedulerServer
	register     func(context.Context, *si.RegisterResourceManagerRequest) (*si.RegisterResourceManagerResponse, error)
	nodes        func(si.Scheduler_UpdateNodeServer) error
	applications func(si.Scheduler_UpdateApplicationServer) error
	allocations  func(si.Scheduler_UpdateAllocationServer) error
}

func (s *fake) RegisterResourceManager(ctx context.Context, r *si.RegisterResourceManagerRequest) (*si.RegisterResourceManagerResponse, error) {
	return s.register(ctx, r)
}

func (s *fake) UpdateNode(stream si.Scheduler_UpdateNodeServer) error { return s.nodes(stream) }

func (s *fake) UpdateApplication(stream si.Scheduler_UpdateApplicationServer) error {
	return s.applications(stream)
}

func (s *fake) UpdateAllocation(stream si.Scheduler_UpdateAllocationServer) error {
	return s.allocations(stream)
}

// echoNodes answers each message with one that has the ID of its resource manager, and ends without an error when the client does.
func echoNodes(stream si.Scheduler_UpdateNodeServer) error {
	for {
		r, err := stream.Recv()
		if err != nil {
			return endOf(err)
		}
		if err := stream.Send(nodeAnswer(r.RmID)); err != nil {
			return err
		}
	}
}

func nodeAnswer(text string) *si.NodeResponse {
	return &si.NodeResponse{Accepted: []*si.AcceptedNode{{NodeID: text}}}
}

// endOf is nil for the end of a stream.
func endOf(err error) error {
	if status.Code(err) == codes.Unknown { // io.EOF
		return nil
	}
	return err
}

// place is where the scheduler is.
type place string

const (
	inProcess place = "in process"
	remote    place = "another member"
	secured   place = "another member with TLS"
)

var places = []place{inProcess, remote, secured}

// chain is a client, a forwarder and a scheduler.
type chain struct {
	client    si.SchedulerClient
	conn      *grpc.ClientConn
	forwarder *Forwarder
	server    *grpc.Server
	at        *recorded // of the scheduler
	route     Route
}

// leaderOfAll are the routes of a group in which each partition has the leader of a route, but for "none", which is an error.
func leaderOfAll(route *Route) Routes {
	return routesFunc(func(partition string) (Route, error) {
		if partition == "none" {
			return Route{}, errors.New(`there is no partition "none", but: default`)
		}
		r := *route
		r.Partition = partition
		return r, nil
	})
}

// newChain returns a chain. Each partition is led by the scheduler, but for "none", which is an error.
func newChain(t testing.TB, where place, s si.SchedulerServer, edit ...func(*Options)) *chain {
	t.Helper()
	c := &chain{}
	opt := Options{Self: self, Routes: leaderOfAll(&c.route)}
	bounds := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(64 << 20), grpc.MaxConcurrentStreams(streamsPerConnection), grpc.StaticStreamWindowSize(window), grpc.StaticConnWindowSize(16 * window),
	}
	switch where {
	case inProcess:
		pipe := NewPipeListener()
		c.at, c.route = &recorded{Listener: pipe}, Route{Dial: pipe.Dial, Epoch: 1}
	case secured:
		server, client := certificates(t)
		bounds, opt.TLS = append(bounds, grpc.Creds(credentials.NewTLS(server))), client
		fallthrough
	case remote:
		c.at = &recorded{Listener: newTCPListener(t)}
		c.route = Route{Address: c.at.Addr().String(), Epoch: 1}
	}
	for _, e := range edit {
		e(&opt)
	}
	c.server = grpc.NewServer(bounds...)
	si.RegisterSchedulerServer(c.server, s)
	var serving sync.WaitGroup
	serving.Go(func() { _ = c.server.Serve(c.at) })
	t.Cleanup(func() { c.server.Stop(); serving.Wait() })
	c.forwarder = New(opt)
	c.conn = newClient(t, serveCalls(t, c.forwarder, nil), nil)
	c.client = si.NewSchedulerClient(c.conn)
	return c
}

// serveCalls serves a forwarder until the end of the test, and returns its address.
func serveCalls(t testing.TB, f *Forwarder, c *tls.Config) string {
	t.Helper()
	l := newTCPListener(t)
	web := f.NewGRPCServer(c)
	var serving sync.WaitGroup
	serving.Go(func() {
		if c != nil {
			_ = web.ServeTLS(l, "", "")
		} else {
			_ = web.Serve(l)
		}
	})
	t.Cleanup(func() { f.Close(); _ = web.Close(); serving.Wait() })
	return l.Addr().String()
}

// newClient connects to an address; c: nil without TLS.
func newClient(t testing.TB, address string, c *tls.Config) *grpc.ClientConn {
	t.Helper()
	transport := insecure.NewCredentials()
	if c != nil {
		transport = credentials.NewTLS(c)
	}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(transport), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)),
		grpc.WithStaticStreamWindowSize(window), grpc.WithStaticConnWindowSize(16*window))
	assert.NilError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// certificates are configurations of TLS of a server and its clients.
func certificates(t testing.TB) (server, client *tls.Config) {
	t.Helper()
	ca := testcert.NewAuthority(t, "ca")
	p := ca.Server(t)
	pair, err := tls.X509KeyPair(p.Cert, p.Key)
	assert.NilError(t, err)
	roots := x509.NewCertPool()
	assert.Assert(t, roots.AppendCertsFromPEM(ca.PEM))
	return &tls.Config{Certificates: []tls.Certificate{pair}}, &tls.Config{RootCAs: roots}
}

// bounded is the context of a test that fails when something does not end. It is no deadline, which calls would carry.
func bounded(t testing.TB) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	ends := time.AfterFunc(2*time.Minute, cancel)
	t.Cleanup(func() { ends.Stop(); cancel() })
	return ctx
}

// forPartition is a context of calls for a partition.
func forPartition(ctx context.Context, partition string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "canopy-partition", partition)
}

// inAllPlaces runs a test with the scheduler in each place.
func inAllPlaces(t *testing.T, test func(t *testing.T, where place)) {
	for _, where := range places {
		t.Run(string(where), func(t *testing.T) { test(t, where) })
	}
}

// serveWeb serves HTTP/1.1 until the end of the test.
func serveWeb(t testing.TB, l net.Listener, h http.Handler, c *tls.Config) {
	t.Helper()
	if c != nil {
		l = tls.NewListener(l, c)
	}
	s := &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(l) })
	t.Cleanup(func() { _ = s.Close(); serving.Wait() })
}
