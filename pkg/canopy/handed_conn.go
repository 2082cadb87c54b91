package canopy

import (
	"errors"
	"net"
	"sync"
	"syscall"
)

// errTermOver is the error of a write after the deadline of a term.
var errTermOver = errors.New("the term of this member is over: nothing may be sent any more")

// handedConn is a connection that a handover has given to a server. Where its receiver has a fence, each write asks it
// just before the system call: what a server has kept in a buffer is not sent after the deadline either (HA-3).
type handedConn struct {
	net.Conn
	raw    syscall.RawConn // nil: Conn has none
	of     *receiver
	once   sync.Once
	closed chan struct{}
}

func (c *handedConn) maySend() bool { return c.of.fence == nil || c.of.fence() }

// newHandedConn returns a connection of a receiver.
func newHandedConn(c net.Conn, of *receiver) *handedConn {
	h := &handedConn{Conn: c, of: of, closed: make(chan struct{})}
	if s, ok := c.(syscall.Conn); ok {
		h.raw, _ = s.SyscallConn() // on failure the fence is asked once for each call of Write
	}
	return h
}

// Write is part of net.Conn. It asks the fence again after each wait for a client that does not read.
func (c *handedConn) Write(text []byte) (int, error) {
	switch {
	case c.of.fence == nil:
		return c.Conn.Write(text)
	case c.raw != nil:
		return c.writeFenced(text)
	case !c.maySend():
		return 0, errTermOver
	}
	return c.Conn.Write(text)
}

// Close is part of net.Conn.
func (c *handedConn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.of.mu.Lock()
		defer c.of.mu.Unlock()
		delete(c.of.open, c)
	})
	return c.Conn.Close()
}

// SetWriteBuffer sets the size of the buffer of the system, where the connection has one.
func (c *handedConn) SetWriteBuffer(bytes int) error {
	if b, ok := c.Conn.(interface{ SetWriteBuffer(bytes int) error }); ok {
		return b.SetWriteBuffer(bytes)
	}
	return errors.ErrUnsupported
}
