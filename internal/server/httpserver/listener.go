package httpserver

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Bounds of connections beyond the limit (OBS-83).
const (
	reservedConnections = 16              // beyond the limit, for the liveness paths
	reservedLifetime    = 3 * time.Second // of a reserved connection
	maxRefusing         = 32              // connections that are answered 503 at the same time; others are closed
	refusalTimeout      = 500 * time.Millisecond
	minIdle             = time.Second // after which a new connection counts as idle
	sendBuffer          = 64 << 10    // bytes of a response in the socket buffer of a client
)

// connectionLimiter bounds the open connections of a server.
type connectionLimiter struct {
	max    int
	counts *Counts
	tls    bool // its connections begin with a handshake

	mu       sync.Mutex
	open     int
	reserved int
	refusing int
	idle     map[*connection]time.Time // since when; includes connections without a request so far
}

// limitedListener is a listener with a connectionLimiter.
type limitedListener struct {
	net.Listener
	*connectionLimiter
}

// connection is a connection of a limitedListener.
type connection struct {
	net.Conn
	limits  *connectionLimiter
	expires time.Time // zero: it is not a reserved connection
	once    sync.Once
}

// Accept returns connections up to the limit. A connection beyond the limit replaces an idle one;
// without an idle one it is a reserved connection; beyond those it is refused here.
func (l limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if tcp, ok := c.(interface{ SetWriteBuffer(bytes int) error }); ok {
			_ = tcp.SetWriteBuffer(sendBuffer) // on failure the default of the system applies
		}
		if admitted := l.admit(c); admitted != nil {
			return admitted, nil
		}
		l.refuse(c)
	}
}

// admit returns c as a connection of the limiter; nil: there are too many (OBS-82).
func (l *connectionLimiter) admit(c net.Conn) net.Conn {
	now := time.Now()
	l.mu.Lock()
	conn := &connection{Conn: c, limits: l}
	var evicted *connection
	switch {
	case l.open < l.max:
	case l.longestIdle(now) != nil:
		evicted = l.longestIdle(now)
		delete(l.idle, evicted)
	case l.reserved < reservedConnections:
		l.reserved++
		conn.expires = now.Add(reservedLifetime)
		_ = c.SetDeadline(conn.expires)
	default:
		l.mu.Unlock()
		return nil
	}
	if conn.expires.IsZero() {
		l.open++
		l.idle[conn] = now
	}
	l.mu.Unlock()
	l.counts.Connections.Add(1)
	if evicted != nil {
		l.counts.Evicted.Add(1)
		_ = evicted.Close()
	}
	return conn
}

// longestIdle is the connection that has been idle for longest; nil: none is idle. The caller
// must hold l.mu.
func (l *connectionLimiter) longestIdle(now time.Time) (found *connection) {
	for c, since := range l.idle {
		if now.Sub(since) >= minIdle && (found == nil || since.Before(l.idle[found])) {
			found = c
		}
	}
	return found
}

// refusalBody is the body of the response to a connection beyond the limit.
var refusalBody = errorBody(http.StatusServiceUnavailable, "too many connections")

var refusal = fmt.Sprintf("HTTP/1.1 503 Service Unavailable\r\nContent-Type: %s\r\nRetry-After: 1\r\n"+
	"Connection: close\r\nContent-Length: %d\r\n\r\n%s", jsonType, len(refusalBody), refusalBody)

// refuse answers 503 without reading the request (OBS-82). Then it reads and drops data for a
// moment: a connection that is closed with unread data is reset, and its client might not see the
// response.
func (l *connectionLimiter) refuse(c net.Conn) {
	l.counts.Refused.Add(1)
	l.mu.Lock()
	answer := l.refusing < maxRefusing && !l.tls // an answer without TLS would be no answer
	if answer {
		l.refusing++
	}
	l.mu.Unlock()
	if !answer {
		_ = c.Close()
		return
	}
	go func() {
		defer func() {
			_ = c.Close()
			l.mu.Lock()
			l.refusing--
			l.mu.Unlock()
		}()
		_ = c.SetDeadline(time.Now().Add(refusalTimeout))
		if _, err := c.Write([]byte(refusal)); err != nil {
			return
		}
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.CloseWrite()
		}
		discard := make([]byte, 4096)
		for {
			if _, err := c.Read(discard); err != nil {
				return
			}
		}
	}()
}

// trackState implements http.Server.ConnState.
func (l *connectionLimiter) trackState(c net.Conn, state http.ConnState) {
	conn, ok := c.(*connection)
	if !ok || !conn.expires.IsZero() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch state {
	case http.StateIdle:
		l.idle[conn] = time.Now()
	case http.StateActive, http.StateClosed, http.StateHijacked:
		delete(l.idle, conn)
	case http.StateNew: // admit has added it
	}
}

// Close closes the connection, and frees its place in the limiter.
func (c *connection) Close() error {
	c.once.Do(func() {
		l := c.limits
		l.counts.Connections.Add(-1)
		l.mu.Lock()
		defer l.mu.Unlock()
		if c.expires.IsZero() {
			l.open--
			delete(l.idle, c)
		} else {
			l.reserved--
		}
	})
	return c.Conn.Close()
}

// capDeadline is the deadline t, but not after the end of a reserved connection.
func (c *connection) capDeadline(t time.Time) time.Time {
	if !c.expires.IsZero() && (t.IsZero() || t.After(c.expires)) {
		return c.expires
	}
	return t
}

// SetDeadline implements net.Conn.
func (c *connection) SetDeadline(t time.Time) error { return c.Conn.SetDeadline(c.capDeadline(t)) }

// SetReadDeadline implements net.Conn.
func (c *connection) SetReadDeadline(t time.Time) error {
	return c.Conn.SetReadDeadline(c.capDeadline(t))
}

// SetWriteDeadline implements net.Conn.
func (c *connection) SetWriteDeadline(t time.Time) error {
	return c.Conn.SetWriteDeadline(c.capDeadline(t))
}
