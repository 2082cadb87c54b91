package forward

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
)

// connections are the connections of HTTP/2 to one server. Each has as many streams as the server allows; when all are in use, another
// connection is opened. One is opened at a time, whatever waits for it: a client that begins a thousand calls opens no thousand connections.
type connections struct {
	connect func(ctx context.Context) (*http.ClientConn, error)
	ctx     context.Context // ends when the connections are closed
	cancel  context.CancelFunc

	mu     sync.Mutex
	open   []*http.ClientConn
	coming *connecting // nil: none is being opened
}

// connecting is a connection that is being opened.
type connecting struct {
	done chan struct{}
	err  error // when done
}

// maxRounds bounds how often a call waits for another connection that others then use, or the server closes at once.
const maxRounds = 100

func newConnections(ctx context.Context, connect func(context.Context) (*http.ClientConn, error)) *connections {
	c := &connections{connect: connect}
	c.ctx, c.cancel = context.WithCancel(ctx)
	return c
}

// reserve returns a connection with a place for a stream: one RoundTrip is to follow.
func (c *connections) reserve(ctx context.Context) (*http.ClientConn, error) {
	for range maxRounds {
		conn, coming := c.find()
		if conn != nil {
			return conn, nil
		}
		select {
		case <-coming.done:
			if coming.err != nil {
				return nil, coming.err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return nil, &unreachableError{errors.New("its connections have no place for another call")}
}

// find returns a connection with a place, or the one that is being opened.
func (c *connections) find() (*http.ClientConn, *connecting) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = slices.DeleteFunc(c.open, func(conn *http.ClientConn) bool { return conn.Err() != nil })
	for _, conn := range c.open {
		if conn.Reserve() == nil {
			return conn, nil
		}
	}
	if c.coming == nil {
		c.coming = &connecting{done: make(chan struct{})}
		go c.add(c.coming)
	}
	return nil, c.coming
}

// add opens a connection.
func (c *connections) add(coming *connecting) {
	conn, err := c.connect(c.ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil && c.ctx.Err() != nil {
		_ = conn.Close()
		err = c.ctx.Err()
	}
	if err == nil {
		c.open = append(c.open, conn)
	} else {
		coming.err = &unreachableError{err}
	}
	c.coming = nil
	close(coming.done)
}

// idle reports whether there is no connection.
func (c *connections) idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.coming == nil && !slices.ContainsFunc(c.open, func(conn *http.ClientConn) bool { return conn.Err() == nil })
}

// close closes the connections. Calls on them end.
func (c *connections) close() {
	c.cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.open {
		_ = conn.Close()
	}
	c.open = nil
}
