package httpserver

import (
	"context"
	"crypto/tls"
	"errors"
	"log"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"
)

// Options configure a Server.
type Options struct {
	MaxConnections int           // open at the same time, at least 1; 0: DefaultConnections
	StallTimeout   time.Duration // within which a client must read each 64 KiB; 0: DefaultStall
	Liveness       []string      // paths that are answered beyond MaxConnections, too
	Counts         *Counts       // nil: not exported
	ErrorLog       *log.Logger   // nil: none
	TLS            *tls.Config   // of the listeners; nil: without TLS
}

// The defaults of Options, and of flags.
const (
	DefaultConnections  = 512
	DefaultLargeAnswers = 32
	DefaultStall        = 10 * time.Second
)

// writeChunk is the number of bytes of a response that a client must read within the stall timeout.
const writeChunk = 64 << 10

// Server is an http.Server that bounds what its clients cost.
type Server struct {
	http   *http.Server
	limits *connectionLimiter
	opt    Options
	end    context.CancelFunc // ends the contexts of requests
}

// New returns a Server for h (OBS-86).
func New(h http.Handler, o Options) *Server {
	if o.MaxConnections <= 0 {
		o.MaxConnections = DefaultConnections
	}
	if o.StallTimeout <= 0 {
		o.StallTimeout = DefaultStall
	}
	if o.Counts == nil {
		o.Counts = new(Counts)
	}
	s := &Server{opt: o,
		limits: &connectionLimiter{max: o.MaxConnections, counts: o.Counts, tls: o.TLS != nil,
			idle: map[*connection]time.Time{}}}
	requests, end := context.WithCancel(context.Background())
	s.end = end
	s.http = &http.Server{
		BaseContext:       func(net.Listener) context.Context { return requests },
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serveRequest(h, w, r) }),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       time.Minute, // for a whole configuration
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          o.ErrorLog,
		ConnState:         func(c net.Conn, state http.ConnState) { s.limits.trackState(belowTLS(c), state) },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connectionKey{}, belowTLS(c))
		},
	}
	return s
}

// Serve serves the connections of a listener until Shutdown or Close; see http.Server.
func (s *Server) Serve(l net.Listener) error {
	var limited net.Listener = limitedListener{l, s.limits}
	if s.opt.TLS != nil {
		limited = tls.NewListener(limited, s.opt.TLS)
	}
	return s.http.Serve(limited)
}

// Protocols are offered by a listener with TLS: the bounds of connections are those of HTTP/1.1, which has one request
// at a time on each.
var Protocols = []string{"http/1.1"}

// belowTLS is the connection that carries c.
func belowTLS(c net.Conn) net.Conn {
	if secure, ok := c.(*tls.Conn); ok {
		return secure.NetConn()
	}
	return c
}

// requestGrace bounds requests in progress after Shutdown: then their contexts end.
const requestGrace = 250 * time.Millisecond

// Shutdown ends the server when no request is in progress; see http.Server.
func (s *Server) Shutdown(ctx context.Context) error {
	defer s.end()
	defer time.AfterFunc(requestGrace, s.end).Stop()
	return s.http.Shutdown(ctx)
}

// Close ends the server at once.
func (s *Server) Close() error {
	s.end()
	return s.http.Close()
}

type connectionKey struct{}

// serveRequest serves a request with write deadlines that move on while the client reads (OBS-83).
func (s *Server) serveRequest(h http.Handler, w http.ResponseWriter, r *http.Request) {
	p := &stallGuard{ResponseWriter: w, control: http.NewResponseController(w), server: s}
	defer p.extendDeadline() // for the data in the buffers of the server
	SetSecurityHeaders(w.Header())
	if c, ok := r.Context().Value(connectionKey{}).(*connection); ok && !c.expires.IsZero() {
		w.Header().Set("Connection", "close")
		if !slices.Contains(s.opt.Liveness, r.URL.Path) {
			s.opt.Counts.Refused.Add(1)
			head := w.Header()
			head.Set("Retry-After", "1")
			head.Set("Content-Type", jsonType)
			head.Set("Content-Length", strconv.Itoa(len(refusalBody)))
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = p.Write([]byte(refusalBody))
			return
		}
	}
	h.ServeHTTP(p, r)
}

// stallGuard is a ResponseWriter that waits for the client as long as it makes progress.
type stallGuard struct {
	http.ResponseWriter
	control *http.ResponseController
	server  *Server
	stalled bool // the client has read nothing for the stall timeout
}

// Unwrap returns the wrapped ResponseWriter, for http.ResponseController.
func (p *stallGuard) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// extendDeadline sets the write deadline for the next chunk.
func (p *stallGuard) extendDeadline() {
	if !p.stalled {
		_ = p.control.SetWriteDeadline(time.Now().Add(p.server.opt.StallTimeout)) // fails in tests without a connection
	}
}

// WriteHeader implements http.ResponseWriter.
func (p *stallGuard) WriteHeader(status int) {
	p.extendDeadline()
	p.ResponseWriter.WriteHeader(status)
}

// Write writes in chunks, each with the stall timeout (OBS-84). If the client reads nothing for so
// long, the write fails and the connection is closed.
func (p *stallGuard) Write(text []byte) (written int, err error) {
	for first := true; first || written < len(text); first = false {
		p.extendDeadline()
		n, err := p.ResponseWriter.Write(text[written:min(written+writeChunk, len(text))])
		written += n
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) && !p.stalled {
				p.stalled = true
				p.server.opt.Counts.Stalled.Add(1)
			}
			return written, err
		}
	}
	return written, nil
}
