package forward

import (
	"context"
	"net"
	"sync"
)

// PipeListener is a listener whose connections begin in the same process. It is safe for concurrent use.
type PipeListener struct {
	given  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// NewPipeListener returns a listener.
func NewPipeListener() *PipeListener {
	return &PipeListener{given: make(chan net.Conn), closed: make(chan struct{})}
}

// Dial opens a connection. It waits until Accept takes the other end. On Unix both ends are sockets, with the buffers of the system; on
// other systems each write waits for a read.
func (l *PipeListener) Dial(ctx context.Context) (net.Conn, error) {
	client, server, err := newPipe()
	if err != nil {
		return nil, err
	}
	select {
	case l.given <- server:
		return client, nil
	case <-l.closed:
		err = net.ErrClosed
	case <-ctx.Done():
		err = ctx.Err()
	}
	_, _ = client.Close(), server.Close() // nothing was written
	return nil, err
}

// Accept is part of net.Listener.
func (l *PipeListener) Accept() (net.Conn, error) {
	select {
	case <-l.closed: // also when Dial waits
		return nil, net.ErrClosed
	default:
	}
	select {
	case c := <-l.given:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close is part of net.Listener. Connections stay open.
func (l *PipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr is part of net.Listener.
func (l *PipeListener) Addr() net.Addr { return pipeAddress{} }

type pipeAddress struct{}

// Network is part of net.Addr.
func (pipeAddress) Network() string { return "pipe" }

func (pipeAddress) String() string { return "pipe" }
