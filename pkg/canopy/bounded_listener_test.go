package canopy

import (
	"net"
	"testing"

	"go.uber.org/zap"
	"gotest.tools/v3/assert"
)

func TestBoundedListener_ExcessConnectionsAreClosed(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	l := limitConnections(inner, 2, zap.NewNop())
	accepted := make(chan net.Conn, 10)
	ended := make(chan error, 1)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				ended <- err
				return
			}
			accepted <- c
		}
	}()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		assert.NilError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	dial()
	dial()
	first := <-accepted
	<-accepted
	_, err = dial().Read(make([]byte, 1))
	assert.Assert(t, err != nil, "the third is closed")
	assert.Equal(t, l.refused.Load(), uint64(1))
	assert.NilError(t, first.Close())
	_ = first.Close()
	dial()
	<-accepted
	assert.Equal(t, l.open.Load(), int64(2), "a connection that is closed twice counts once")
	assert.NilError(t, l.Close())
	<-ended
}
