package canopy

import (
	"errors"
	"net"
	"sync"
	"time"
)

// acceptRetry is the pause of a handover after a failure that may pass, such as too many open files.
const acceptRetry = 50 * time.Millisecond

// handover accepts the connections of a listener and gives each to the receiver that is current: that of the standby's
// server or of the term's. A connection belongs to one server until it is closed.
type handover struct {
	on      net.Listener
	standby *receiver

	mu      sync.Mutex
	current *receiver
}

// newHandover returns the handover of a listener; the standby is current. nil: there is no listener.
func newHandover(on net.Listener) *handover {
	if on == nil {
		return nil
	}
	h := &handover{on: on, standby: newReceiver(on.Addr(), nil)}
	h.current = h.standby
	return h
}

// run hands connections over until the listener is closed, which is no error.
func (h *handover) run() error {
	for {
		c, err := h.on.Accept()
		var passing interface{ Temporary() bool }
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil
		case errors.As(err, &passing) && passing.Temporary():
			time.Sleep(acceptRetry)
		case err != nil:
			return err
		default:
			h.give(c)
		}
	}
}

// give gives a connection to the current receiver. One that is given while another becomes current is closed with the
// former.
func (h *handover) give(c net.Conn) {
	h.mu.Lock()
	to := h.current
	given := to.add(c)
	h.mu.Unlock()
	select {
	case to.given <- given:
	case <-to.closed:
		_ = given.Close()
	case <-given.closed: // by dropConnections
	}
}

// to makes a receiver current, and closes the connections of the one before: their clients connect again (HA-5). nil:
// the standby.
func (h *handover) to(next *receiver) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if next == nil {
		next = h.standby
	}
	if h.current != next {
		h.current.dropConnections()
	}
	h.current = next
}

// receiver is the listener of a server that gets its connections from a handover.
type receiver struct {
	at     net.Addr
	fence  func() bool // whether something may be sent; nil: always
	given  chan net.Conn
	closed chan struct{}
	once   sync.Once

	mu   sync.Mutex
	open map[*handedConn]struct{}
}

func newReceiver(at net.Addr, fence func() bool) *receiver {
	return &receiver{at: at, fence: fence, given: make(chan net.Conn), closed: make(chan struct{}),
		open: map[*handedConn]struct{}{}}
}

// Accept returns the next connection.
func (r *receiver) Accept() (net.Conn, error) {
	select {
	case c := <-r.given:
		return c, nil
	case <-r.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept. The connections stay open.
func (r *receiver) Close() error {
	r.once.Do(func() { close(r.closed) })
	return nil
}

// Addr is the address of the listener.
func (r *receiver) Addr() net.Addr { return r.at }

// add makes a connection one of the receiver.
func (r *receiver) add(c net.Conn) *handedConn {
	h := newHandedConn(c, r)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open[h] = struct{}{}
	return h
}

// dropConnections closes all connections.
func (r *receiver) dropConnections() {
	r.mu.Lock()
	var all []*handedConn
	for c := range r.open {
		all = append(all, c)
	}
	r.mu.Unlock()
	for _, c := range all {
		_ = c.Close() // what has been sent is on its way, and the client sees the end
	}
}
