package forward

import (
	"context"
	"io"
	"net"
	"runtime"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
)

func TestPipeListener_EndsAreConnected(t *testing.T) {
	l := NewPipeListener()
	accepted := make(chan net.Conn)
	go func() {
		c, _ := l.Accept()
		accepted <- c
	}()
	client, err := l.Dial(t.Context())
	assert.NilError(t, err)
	server := <-accepted
	assert.NilError(t, l.Close())
	if runtime.GOOS != "windows" {
		_, ok := server.(syscall.Conn)
		assert.Assert(t, ok, "%T", server)
	}
	for _, ends := range [][2]net.Conn{{client, server}, {server, client}} {
		wrote := make(chan error)
		go func() {
			_, err := ends[0].Write([]byte("text"))
			wrote <- err
		}()
		got := make([]byte, 4)
		_, err := io.ReadFull(ends[1], got)
		assert.NilError(t, err)
		assert.NilError(t, <-wrote)
		assert.Equal(t, string(got), "text")
	}
	assert.NilError(t, client.Close())
	_, err = server.Read(make([]byte, 1))
	assert.ErrorIs(t, err, io.EOF)
	assert.NilError(t, server.Close())
	assert.Equal(t, l.Addr().Network()+l.Addr().String(), "pipepipe")
}

func TestPipeListener_DialEnds(t *testing.T) {
	l := NewPipeListener()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := l.Dial(ctx)
	assert.ErrorIs(t, err, context.Canceled)
	failed := make(chan error)
	go func() {
		_, err := l.Dial(t.Context())
		failed <- err
	}()
	assert.NilError(t, l.Close())
	assert.ErrorIs(t, <-failed, net.ErrClosed)
	assert.NilError(t, l.Close())
	_, err = l.Accept()
	assert.ErrorIs(t, err, net.ErrClosed)
}
