package canopy

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"

	"go.uber.org/zap"
)

// boundedListener is a listener that closes further connections at once when maxOpen are open
// (RMI-43). The peers see that immediately; in the backlog they would wait without a reason.
type boundedListener struct {
	net.Listener
	maxOpen int
	open    atomic.Int64
	refused atomic.Uint64
	log     *zap.Logger
}

// limitConnections bounds the number of open connections of a listener.
func limitConnections(l net.Listener, most int, log *zap.Logger) *boundedListener {
	return &boundedListener{Listener: l, maxOpen: most, log: log}
}

// Accept waits for a connection within the bound, and closes others.
func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.open.Add(1) <= int64(l.maxOpen) {
			return &countedConn{Conn: c, listener: l}, nil
		}
		l.open.Add(-1)
		n := l.refused.Add(1) // before the peer can see it
		_ = c.Close()         // the peer sees it, or has closed it itself
		if n&(n-1) == 0 {     // 1, 2, 4, 8 and so on: a flood of connections is few lines
			l.log.Warn("connection refused: too many are open", zap.String("listener", l.Addr().String()),
				zap.Stringer("peer", c.RemoteAddr()), zap.Int("max", l.maxOpen), zap.Uint64("refused", n))
		}
	}
}

// countedConn is a connection that counts as open until it is closed.
type countedConn struct {
	net.Conn
	listener *boundedListener
	once     sync.Once
}

// SyscallConn is the raw connection, for the fence of a term.
func (c *countedConn) SyscallConn() (syscall.RawConn, error) {
	if s, ok := c.Conn.(syscall.Conn); ok {
		return s.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// Close closes the connection.
func (c *countedConn) Close() error {
	c.once.Do(func() { c.listener.open.Add(-1) })
	return c.Conn.Close()
}
