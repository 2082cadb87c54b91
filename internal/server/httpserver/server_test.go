package httpserver

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"gotest.tools/v3/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pipeListener is a listener without a network: a write blocks until it is read.
type pipeListener struct {
	conns chan net.Conn
	once  sync.Once
	ended chan struct{}
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), ended: make(chan struct{})}
}

func (p *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}

func (p *pipeListener) Close() error   { p.once.Do(func() { close(p.ended) }); return nil }
func (p *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }
func (p *pipeListener) dial() net.Conn {
	client, server := net.Pipe()
	p.conns <- server
	return client
}

// withServer runs a test against a server on virtual time.
func withServer(t *testing.T, h http.HandlerFunc, o Options, do func(*pipeListener)) {
	synctest.Test(t, func(t *testing.T) {
		s, p := New(h, o), newPipeListener()
		var serving sync.WaitGroup
		serving.Go(func() { _ = s.Serve(p) })
		do(p)
		assert.NilError(t, s.Close())
		serving.Wait()
	})
}

func send(t *testing.T, c net.Conn, path string) {
	t.Helper()
	_, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", path)
	assert.NilError(t, err)
}

// get sends a request and reads the response.
func get(t *testing.T, c net.Conn, path string) (status int, body string, response *http.Response) {
	t.Helper()
	send(t, c, path)
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	assert.NilError(t, err)
	text, err := io.ReadAll(response.Body)
	assert.NilError(t, err)
	return response.StatusCode, string(text), response
}

const large = 10 << 20

func writeLarge(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", fmt.Sprint(large))
	_, _ = w.Write([]byte(strings.Repeat("x", large)))
}

func TestServer_ClientThatReadsNothingIsDisconnected(t *testing.T) {
	counts := new(Counts)
	var ended time.Time
	handler := func(w http.ResponseWriter, r *http.Request) {
		writeLarge(w, r)
		ended = time.Now()
	}
	withServer(t, handler, Options{Counts: counts}, func(p *pipeListener) {
		began := time.Now()
		c := p.dial()
		defer c.Close()
		send(t, c, "/")
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, ended.Sub(began), DefaultStall)
		assert.Equal(t, counts.Stalled.Load(), uint64(1))
		assert.Equal(t, counts.Connections.Load(), int64(0), "the connection is closed")
	})
}

// A client that reads slowly gets the whole response, however long that takes.
func TestServer_ClientThatMakesProgressIsKept(t *testing.T) {
	counts := new(Counts)
	withServer(t, writeLarge, Options{Counts: counts}, func(p *pipeListener) {
		began := time.Now()
		c := p.dial()
		defer c.Close()
		send(t, c, "/")
		response, err := http.ReadResponse(bufio.NewReader(c), nil)
		assert.NilError(t, err)
		piece, got := make([]byte, writeChunk), 0
		for {
			n, err := io.ReadFull(response.Body, piece)
			got += n
			if err != nil {
				break
			}
			time.Sleep(DefaultStall - time.Second)
		}
		assert.Equal(t, got, large)
		assert.Assert(t, time.Since(began) > 20*time.Minute)
		assert.Equal(t, counts.Stalled.Load(), uint64(0))
	})
}

// A slow request with a status and no body is answered on the same connection after a response
// whose deadline is over.
func TestServer_WriteDeadlineIsPerResponse(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			time.Sleep(45 * time.Second)
			return
		}
		_, _ = io.WriteString(w, "quick")
	}
	withServer(t, handler, Options{}, func(p *pipeListener) {
		c := p.dial()
		defer c.Close()
		_, body, _ := get(t, c, "/quick")
		assert.Equal(t, body, "quick")
		time.Sleep(30 * time.Second)
		status, _, _ := get(t, c, "/slow")
		assert.Equal(t, status, http.StatusOK)
	})
}

func TestServer_LivenessIsAnsweredOverTheLimit(t *testing.T) {
	counts := new(Counts)
	handler := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			<-r.Context().Done()
		}
		_, _ = io.WriteString(w, "alive")
	}
	withServer(t, handler, Options{MaxConnections: 3, Liveness: []string{"/healthz"}, Counts: counts},
		func(p *pipeListener) {
			for range 3 {
				c := p.dial()
				defer c.Close()
				send(t, c, "/busy")
			}
			synctest.Wait()
			late := p.dial()
			defer late.Close()
			status, body, response := get(t, late, "/list")
			assert.Equal(t, status, http.StatusServiceUnavailable)
			assert.Equal(t, body, refusalBody)
			assert.Equal(t, response.Header.Get("Retry-After"), "1")
			assert.Assert(t, response.Close, "a reserved connection is closed")

			probe := p.dial()
			defer probe.Close()
			status, body, response = get(t, probe, "/healthz")
			assert.Equal(t, status, http.StatusOK)
			assert.Equal(t, body, "alive")
			assert.Assert(t, response.Close)
			assert.Equal(t, counts.Refused.Load(), uint64(1))
		})
}

// Connections without a request take neither ordinary nor reserved connections for long, and
// connections beyond both are refused at once.
func TestServer_SilentConnectionsDoNotBlockNewOnes(t *testing.T) {
	counts := new(Counts)
	handler := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") }
	withServer(t, handler, Options{MaxConnections: 3, Liveness: []string{"/healthz"}, Counts: counts},
		func(p *pipeListener) {
			for range 3 + reservedConnections {
				c := p.dial()
				defer c.Close()
			}
			refused := p.dial()
			defer refused.Close()
			response, err := http.ReadResponse(bufio.NewReader(refused), nil)
			assert.NilError(t, err)
			assert.Equal(t, response.StatusCode, http.StatusServiceUnavailable)
			assert.Equal(t, counts.Refused.Load(), uint64(1))

			time.Sleep(minIdle)
			c := p.dial()
			defer c.Close()
			_, body, _ := get(t, c, "/list")
			assert.Equal(t, body, "here", "it replaces a connection without a request")
			assert.Equal(t, counts.Evicted.Load(), uint64(1))
			time.Sleep(time.Minute)
			synctest.Wait()
			assert.Equal(t, counts.Connections.Load(), int64(0), "all connections without a request are closed")
		})
}

func TestServer_IdleConnectionIsEvictedForANewOne(t *testing.T) {
	counts := new(Counts)
	handler := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") }
	withServer(t, handler, Options{MaxConnections: 1, Counts: counts}, func(p *pipeListener) {
		first := p.dial()
		defer first.Close()
		_, body, _ := get(t, first, "/")
		assert.Equal(t, body, "here")
		time.Sleep(2 * minIdle)
		second := p.dial()
		defer second.Close()
		_, body, _ = get(t, second, "/")
		assert.Equal(t, body, "here")
		_, err := first.Read(make([]byte, 1))
		assert.ErrorIs(t, err, io.EOF)
		assert.Equal(t, counts.Evicted.Load(), uint64(1))
		assert.Equal(t, counts.Connections.Load(), int64(1))
	})
}

// A request that does not end must not keep its connection for ever.
func TestServer_UnfinishedRequestTimesOut(t *testing.T) {
	counts := new(Counts)
	handler := func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }
	withServer(t, handler, Options{Counts: counts}, func(p *pipeListener) {
		for _, begin := range []string{"GET / HTTP/1.1\r\nHost: a\r\n",
			"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nparti"} {
			c := p.dial()
			defer c.Close()
			_, err := io.WriteString(c, begin)
			assert.NilError(t, err)
			_, err = io.Copy(io.Discard, c)
			assert.NilError(t, err)
		}
		synctest.Wait()
		assert.Equal(t, counts.Connections.Load(), int64(0))
	})
}

// Requests that end with their context do not keep the server from ending.
func TestServer_RequestsEndSomeTimeAfterShutdown(t *testing.T) {
	var took time.Duration
	synctest.Test(t, func(t *testing.T) {
		s := New(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			began := time.Now()
			<-r.Context().Done()
			took = time.Since(began)
		}), Options{})
		p := newPipeListener()
		var serving sync.WaitGroup
		serving.Go(func() { _ = s.Serve(p) })
		client := p.dial()
		_, err := io.WriteString(client, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		assert.NilError(t, err)
		synctest.Wait()
		serving.Go(func() { _, _ = io.Copy(io.Discard, client) })
		assert.NilError(t, s.Shutdown(t.Context()))
		serving.Wait()
	})
	assert.Equal(t, took, requestGrace)
}
