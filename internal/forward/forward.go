package forward

import (
	"context"
	"crypto/tls"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
	"time"

	"go.uber.org/zap"
)

// Route is where a request goes.
type Route struct {
	Partition string
	Dial      func(ctx context.Context) (net.Conn, error) // to a server of this process that leads the partition; nil: another member leads it
	Address   string                                      // HOST:PORT of the member that leads it; empty: it is not known, or cannot be reached
	Leader    string                                      // the name of that member; empty: it is not known
	Epoch     int64                                       // of the term: servers of this process with different ones are different
}

// Routes finds routes. It is safe for concurrent use.
type Routes interface {
	// Route returns the route of a partition. Empty: the request names none. An error refuses the request; its text is for the client.
	Route(partition string) (Route, error)
}

// Options configure a Forwarder.
type Options struct {
	Routes  Routes
	Self    string                 // the name of this member; not empty
	TLS     *tls.Config            // of connections to other members; nil: without TLS
	Local   http.Handler           // answers requests for the member itself; nil: there are none
	IsLocal func(path string) bool // whether a request that names no partition is for the member itself; nil: none is
	Log     *zap.Logger            // nil: nothing is logged

	DialTimeout time.Duration // of a connection to another member, with its handshake; 0: DefaultDialTimeout
}

// DefaultDialTimeout is the default of Options.DialTimeout.
const DefaultDialTimeout = 5 * time.Second

// The headers of requests, and metadata of calls, that the package reads and writes.
const (
	PartitionHeader = "Canopy-Partition" // of a request: the partition it is for
	ForwardedHeader = "Canopy-Forwarded" // of a request: the name of the member that has passed it on
	LeaderHeader    = "Canopy-Leader"    // in the trailers of a refused call: HOST:PORT of the member that leads the partition
)

// Forwarder passes requests on. It is safe for concurrent use.
type Forwarder struct {
	opt       Options
	log       *zap.Logger
	grpc, web *httputil.ReverseProxy
	calls     callConnections
	requests  *http.Transport

	ctx    context.Context // ends when Close is called
	cancel context.CancelFunc
}

// New returns a Forwarder.
func New(opt Options) *Forwarder {
	f := &Forwarder{opt: opt, log: opt.Log}
	if f.log == nil {
		f.log = zap.NewNop()
	}
	if f.opt.DialTimeout <= 0 {
		f.opt.DialTimeout = DefaultDialTimeout
	}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	f.calls = callConnections{f: f, local: map[string]localConnections{}, remote: map[string]*connections{}}
	f.requests = f.newRequestTransport()
	errors := f.proxyLog()
	f.grpc = &httputil.ReverseProxy{
		Rewrite: f.rewriteCall, Transport: sendCall{f}, ModifyResponse: f.answerCall, ErrorHandler: f.failCall, BufferPool: &buffers, ErrorLog: errors,
	}
	f.web = &httputil.ReverseProxy{
		Rewrite: f.rewriteRequest, Transport: f.requests, ModifyResponse: f.answerRequest, ErrorHandler: f.failRequest, BufferPool: &buffers, ErrorLog: errors,
	}
	return f
}

// proxyLog takes what the reverse proxies say about clients that have gone.
func (f *Forwarder) proxyLog() *log.Logger {
	l, err := zap.NewStdLogAt(f.log, zap.DebugLevel)
	if err != nil {
		panic("forward: " + err.Error()) // the level exists
	}
	return l
}

// Close ends all requests under way and the connections. Later requests are refused as unavailable.
func (f *Forwarder) Close() {
	f.cancel()
	f.calls.close()
	f.requests.CloseIdleConnections() // those with requests are closed by the end of the requests
}

// buffers are the buffers of answers, one for each request under way.
var buffers = bufferPool{sync.Pool{New: func() any { return new([bufferBytes]byte) }}}

// bufferBytes is two frames of HTTP/2.
const bufferBytes = 32 << 10

type bufferPool struct{ pool sync.Pool }

// Get is part of httputil.BufferPool.
func (p *bufferPool) Get() []byte { return p.pool.Get().(*[bufferBytes]byte)[:] }

// Put is part of httputil.BufferPool.
func (p *bufferPool) Put(b []byte) { p.pool.Put((*[bufferBytes]byte)(b)) }
