package httpserver

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

// What a connection over the limit costs at most.
const (
	reservedConnections = 16              // over the limit, for the liveness paths
	reservedLifetime    = 3 * time.Second // of each of them
	maxRefusing         = 32              // connections that are told at the same time why they are refused
	refusalTimeout      = 500 * time.Millisecond
	minIdle             = time.Second // that a new connection has before it counts as idle
	sendBuffer          = 64 << 10    // bytes of an answer that the system keeps for a client
)

// connectionLimiter bounds the open connections of a server.
type connectionLimiter struct {
	max    int
	counts *Counts

	mu       sync.Mutex
	open     int
	reserved int
	refusing int
	idle     map[*connection]time.Time // since when; also of those that have not sent anything
}

// limitedListener is a listener behind a limiter.
type limitedListener struct {
	net.Listener
	*connectionLimiter
}

// connection is one of a limited listener.
type connection struct {
	net.Conn
	rawConn syscall.RawConn // nil: it is written to as any other
	limits  *connectionLimiter
	expires time.Time // zero: it is no reserved one
	once    sync.Once
}

// Accept returns connections as long as there is room. One over the limit takes the place of
// one that is idle, else it is reserved, else it is refused here.
func (l limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetWriteBuffer(sendBuffer) // with the default of the system it still works
		}
		if admitted := l.admit(c); admitted != nil {
			return admitted, nil
		}
		l.refuse(c)
	}
}

// admit returns c as a connection of the limiter; nil: there is no room.
func (l *connectionLimiter) admit(c net.Conn) net.Conn {
	now := time.Now()
	l.mu.Lock()
	conn := &connection{Conn: c, limits: l}
	if sc, ok := c.(syscall.Conn); ok {
		conn.rawConn, _ = sc.SyscallConn() // without it, it still works
	}
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

// longestIdle is the connection that has been idle for longest; nil: there is none. Requires:
// l.mu is held.
func (l *connectionLimiter) longestIdle(now time.Time) (found *connection) {
	for c, since := range l.idle {
		if now.Sub(since) >= minIdle && (found == nil || since.Before(l.idle[found])) {
			found = c
		}
	}
	return found
}

// invalidConfigBody is what a connection over the limit gets.
const refusalBody = `{"status_code":503,"message":"` + tooManyConnections + `","description":"` + tooManyConnections + `"}`

const tooManyConnections = "too many connections"

var refusal = fmt.Sprintf("HTTP/1.1 503 Service Unavailable\r\nContent-Type: %s\r\nRetry-After: 1\r\n"+
	"Connection: close\r\nContent-Length: %d\r\n\r\n%s", jsonType, len(refusalBody), refusalBody)

const jsonType = "application/json; charset=UTF-8"

// refuse answers 503 without reading the request. What was sent is read and dropped for a
// moment: a connection that is closed with data unread is reset, and its client may not see
// the answer.
func (l *connectionLimiter) refuse(c net.Conn) {
	l.counts.Refused.Add(1)
	l.mu.Lock()
	answer := l.refusing < maxRefusing
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

// trackState is told by the server what its connections do.
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
	case http.StateNew: // it was entered when it was admitted
	}
}

// Close gives the place of the connection back.
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

// capDeadline is a deadline that the server wants, but not after the end of a reserved connection.
func (c *connection) capDeadline(t time.Time) time.Time {
	if !c.expires.IsZero() && (t.IsZero() || t.After(c.expires)) {
		return c.expires
	}
	return t
}

// SetDeadline is that of net.Conn.
func (c *connection) SetDeadline(t time.Time) error { return c.Conn.SetDeadline(c.capDeadline(t)) }

// SetReadDeadline is that of net.Conn.
func (c *connection) SetReadDeadline(t time.Time) error {
	return c.Conn.SetReadDeadline(c.capDeadline(t))
}

// SetWriteDeadline is that of net.Conn.
func (c *connection) SetWriteDeadline(t time.Time) error {
	return c.Conn.SetWriteDeadline(c.capDeadline(t))
}
