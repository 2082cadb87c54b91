package httpserver

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
)

// newConnectionPair returns a connection of a limited listener and its client, over TCP.
func newConnectionPair(t *testing.T) (server, client net.Conn) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	on := limitedListener{l, &connectionLimiter{max: 1, counts: new(Counts), idle: map[*connection]time.Time{}}}
	client, err = new(net.Dialer).DialContext(t.Context(), "tcp", l.Addr().String())
	assert.NilError(t, err)
	server, err = on.Accept()
	assert.NilError(t, err)
	t.Cleanup(func() {
		_, _, _ = client.Close(), server.Close(), l.Close()
	})
	return server, client
}

// writeResult is the result of a write.
type writeResult struct {
	n   int
	err error
}

// A write to a client that does not read waits, without a CPU slot, until the client reads.
func TestConnection_BlockedWriteHoldsNoCPUSlot(t *testing.T) {
	server, client := newConnectionPair(t)
	text := make([]byte, 32<<20) // more than the socket buffers of both sides
	for i := range text {
		text[i] = byte(i * 31 >> 8)
	}
	wrote := make(chan writeResult)
	go func() {
		n, err := server.Write(text)
		wrote <- writeResult{n, err}
	}()
	first := make([]byte, 1)
	_, err := io.ReadFull(client, first)
	assert.NilError(t, err)
	var all []*cpushare.Slot
	for range max(1, runtime.GOMAXPROCS(0)/2) { // all slots: this would block if the write held one
		all = append(all, cpushare.Readers.Acquire(t.Context()))
	}
	select {
	case <-wrote:
		t.Fatal("the write ended without a reader")
	default:
	}
	for _, slot := range all {
		slot.Release()
	}
	rest := make([]byte, len(text)-1)
	_, err = io.ReadFull(client, rest)
	assert.NilError(t, err)
	assert.Equal(t, <-wrote, writeResult{len(text), nil})
	assert.Assert(t, bytes.Equal(append(first, rest...), text))
}

// The deadline of a write applies while it waits for the client; the number of written bytes is
// right.
func TestConnection_WriteDeadline(t *testing.T) {
	server, client := newConnectionPair(t)
	text := make([]byte, 32<<20)
	wrote := make(chan writeResult)
	go func() {
		n, err := server.Write(text)
		wrote <- writeResult{n, err}
	}()
	_, err := io.ReadFull(client, make([]byte, 1)) // the write is in progress
	assert.NilError(t, err)
	assert.NilError(t, server.SetWriteDeadline(time.Unix(1, 0)))
	o := <-wrote
	assert.ErrorIs(t, o.err, os.ErrDeadlineExceeded)
	assert.Assert(t, 0 < o.n && o.n < len(text), "%d", o.n)
	assert.NilError(t, server.Close())
	got, err := io.Copy(io.Discard, client)
	assert.NilError(t, err)
	assert.Equal(t, int(got)+1, o.n)
}

// A write to a client that has closed the connection fails.
func TestConnection_WriteToClosedClientFails(t *testing.T) {
	server, client := newConnectionPair(t)
	assert.NilError(t, client.Close())
	var err error
	for range 100 {
		if _, err = server.Write(make([]byte, 1<<20)); err != nil {
			break
		}
	}
	var syscallError *os.SyscallError
	assert.Assert(t, errors.As(err, &syscallError), "%v", err)
}
