package httpserver

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"
)

// Options say how a Server behaves.
type Options struct {
	MaxConnections int           // that are open at the same time, at least 1; 0: DefaultConnections
	StallTimeout   time.Duration // in which a client must take what is sent at once; 0: DefaultStall
	Liveness       []string      // paths that are answered when there are too many connections
	Counts         *Counts       // nil: they are not shown to anybody
	ErrorLog       *log.Logger   // nil: none
}

// The defaults of Options, and of flags.
const (
	DefaultConnections  = 512
	DefaultLargeAnswers = 32
	DefaultStall        = 10 * time.Second
)

// writeChunk is how many bytes of an answer a client must take within the stall time-out.
const writeChunk = 64 << 10

// Server is an http.Server whose clients cost a bounded amount.
type Server struct {
	http   *http.Server
	limits *connectionLimiter
	opt    Options
}

// New returns a Server for h.
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
	s := &Server{opt: o, limits: &connectionLimiter{max: o.MaxConnections, counts: o.Counts, idle: map[*connection]time.Time{}}}
	s.http = &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serveRequest(h, w, r) }),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       time.Minute, // for a whole configuration
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          o.ErrorLog,
		ConnState:         s.limits.trackState,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connectionKey{}, c)
		},
	}
	return s
}

// Serve answers the connections of a listener until Shutdown or Close; see http.Server.
func (s *Server) Serve(l net.Listener) error { return s.http.Serve(limitedListener{l, s.limits}) }

// Shutdown ends the server when no request is under way any more; see http.Server.
func (s *Server) Shutdown(ctx context.Context) error { return s.http.Shutdown(ctx) }

// Close ends the server at once.
func (s *Server) Close() error { return s.http.Close() }

type connectionKey struct{}

// serveRequest serves a request with deadlines that move with what the client takes.
func (s *Server) serveRequest(h http.Handler, w http.ResponseWriter, r *http.Request) {
	p := &stallGuard{ResponseWriter: w, control: http.NewResponseController(w), server: s}
	defer p.extendDeadline() // for what the server still has in its buffers
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

// stallGuard is a ResponseWriter that waits for the client as long as that takes something.
type stallGuard struct {
	http.ResponseWriter
	control *http.ResponseController
	server  *Server
	stalled bool // the client has taken nothing for too long
}

// Unwrap lets an http.ResponseController find the writer below.
func (p *stallGuard) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// extendDeadline lets the client take its time for the next piece.
func (p *stallGuard) extendDeadline() {
	if !p.stalled {
		_ = p.control.SetWriteDeadline(time.Now().Add(p.server.opt.StallTimeout)) // not in a test without a connection
	}
}

// WriteHeader is that of http.ResponseWriter.
func (p *stallGuard) WriteHeader(status int) {
	p.extendDeadline()
	p.ResponseWriter.WriteHeader(status)
}

// Write writes piece by piece, each within the stall time-out. A client that takes nothing for
// so long is cut.
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
