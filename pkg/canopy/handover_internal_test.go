package canopy

import (
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// fencedPair is a connection that a handover has given to a receiver with a fence, and its client.
func fencedPair(t *testing.T, open *atomic.Bool) (server net.Conn, client net.Conn) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	h := newHandover(l)
	r := newReceiver(l.Addr(), open.Load)
	h.to(r)
	ended := make(chan error, 1)
	go func() { ended <- h.run() }()
	client, err = new(net.Dialer).DialContext(t.Context(), "tcp", l.Addr().String())
	assert.NilError(t, err)
	server, err = r.Accept()
	assert.NilError(t, err)
	t.Cleanup(func() {
		assert.NilError(t, l.Close())
		assert.NilError(t, <-ended)
		h.to(nil)
		_ = client.Close()
	})
	return server, client
}

// After the deadline nothing is written.
func TestFence_NothingIsWrittenAfterTheDeadline(t *testing.T) {
	var open atomic.Bool
	open.Store(true)
	server, client := fencedPair(t, &open)
	_, err := server.Write([]byte("before"))
	assert.NilError(t, err)
	open.Store(false)
	n, err := server.Write([]byte("after"))
	assert.Equal(t, n, 0)
	assert.ErrorIs(t, err, errTermOver)
	assert.NilError(t, server.Close())
	got, err := io.ReadAll(client)
	assert.NilError(t, err)
	assert.Equal(t, string(got), "before")
}

// A write that waits for its client is not continued after the deadline.
func TestFence_WaitingWriteEnds(t *testing.T) {
	var open atomic.Bool
	open.Store(true)
	server, client := fencedPair(t, &open)
	type result struct {
		n   int
		err error
	}
	wrote := make(chan result, 1)
	text := make([]byte, 64<<20) // more than the buffers of both sides
	go func() {
		n, err := server.Write(text)
		wrote <- result{n, err}
	}()
	_, err := io.ReadFull(client, make([]byte, 1))
	assert.NilError(t, err)
	open.Store(false)
	go func() { _, _ = io.Copy(io.Discard, client) }()
	got := <-wrote
	assert.ErrorIs(t, got.err, errTermOver)
	assert.Assert(t, got.n < len(text))
}

// A connection that is accepted while another receiver becomes current belongs to one of them, and is closed with it.
func TestHandover_ConnectionOfAFormerReceiverIsClosed(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	defer l.Close()
	h := newHandover(l)
	ours, theirs := net.Pipe()
	assert.NilError(t, theirs.SetReadDeadline(time.Now().Add(10*time.Second))) // a failure, and not a test that hangs
	given := make(chan struct{})
	go func() {
		defer close(given)
		h.give(ours) // the server of the standby does not accept
	}()
	for { // until the connection is one of the receiver
		h.standby.mu.Lock()
		n := len(h.standby.open)
		h.standby.mu.Unlock()
		if n == 1 {
			break
		}
	}
	h.to(newReceiver(l.Addr(), nil))
	_, err = theirs.Read(make([]byte, 1))
	assert.ErrorIs(t, err, io.EOF)
	<-given
	assert.Equal(t, len(h.standby.open), 0)
}
