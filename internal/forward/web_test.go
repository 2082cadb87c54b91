package forward

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/canopy-scheduler/canopy/internal/httpserver"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// webChain is a client, a forwarder and a server of HTTP.
type webChain struct {
	url       string // of the forwarder
	client    *http.Client
	forwarder *Forwarder
	at        *recorded
	route     Route
}

// newWebChain returns a chain. Each partition is led by the server, but for "none", which is an error.
func newWebChain(t testing.TB, where place, h http.Handler, edit ...func(*Options)) *webChain {
	t.Helper()
	c := &webChain{}
	opt := Options{Self: self, Routes: leaderOfAll(&c.route)}
	switch where {
	case inProcess:
		pipe := NewPipeListener()
		c.at, c.route = &recorded{Listener: pipe}, Route{Dial: pipe.Dial, Epoch: 1}
		serveWeb(t, c.at, h, nil)
	default:
		server, client := certificates(t)
		if where == remote {
			server, client = nil, nil
		}
		c.at, opt.TLS = &recorded{Listener: newTCPListener(t)}, client
		c.route = Route{Address: c.at.Addr().String()}
		serveWeb(t, c.at, h, server)
	}
	for _, e := range edit {
		e(&opt)
	}
	c.forwarder = New(opt)
	t.Cleanup(c.forwarder.Close)
	front := newTCPListener(t)
	serveWeb(t, front, httpserver.WithSecurityHeaders(c.forwarder.HTTP()), nil)
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	c.url = "http://" + front.Addr().String()
	c.client = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return c
}

// send sends a request; headers are pairs.
func (c *webChain) send(t testing.TB, method, target, body string, headers ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(bounded(t), method, c.url+target, strings.NewReader(body))
	assert.NilError(t, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	res, err := c.client.Do(r)
	assert.NilError(t, err)
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

func read(t testing.TB, res *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(res.Body)
	assert.NilError(t, err)
	return string(text)
}

func TestHTTP_RequestsAndAnswersArePassedOn(t *testing.T) {
	inAllPlaces(t, func(t *testing.T, where place) {
		var got *http.Request
		var body string
		c := newWebChain(t, where, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got = r
			text, _ := io.ReadAll(r.Body)
			body = string(text)
			w.Header()["Canopy-Epoch"], w.Header()["Many"] = []string{"7"}, []string{"1", "2"}
			w.Header().Set("Content-Security-Policy", "default-src 'self'")
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(http.StatusSeeOther)
			_, _ = io.WriteString(w, "answer")
		}))
		const target = "/ws/v1/partition/a%2Fb/queue/root.x%20y/?x=1;2&y=%zz&partition=a%2Fb"
		res := c.send(t, http.MethodPut, target, "body", "Authorization", "Bearer x", "X-Forwarded-For", "10.0.0.1", "Many", "1", "Many", "2",
			"Connection", "Upgrade", "Upgrade", "websocket", "Origin", c.url)
		assert.Equal(t, res.StatusCode, http.StatusSeeOther)
		assert.Equal(t, read(t, res), "answer")
		assert.DeepEqual(t, res.Header["Many"], []string{"1", "2"})
		assert.Equal(t, res.Header.Get("Canopy-Epoch")+res.Header.Get("Location"), "7/elsewhere")
		assert.DeepEqual(t, res.Header["Content-Security-Policy"], []string{"default-src 'self'"})
		assert.DeepEqual(t, res.Header["X-Frame-Options"], []string{"DENY"}) // of the server of the forwarder, where the other has none

		assert.Equal(t, got.Method+" "+got.RequestURI+" "+body, "PUT "+target+" body")
		assert.Equal(t, got.Header.Get("Authorization"), "Bearer x")
		assert.DeepEqual(t, got.Header["Many"], []string{"1", "2"})
		assert.Equal(t, got.Header.Get("X-Forwarded-For"), "10.0.0.1, 127.0.0.1")
		assert.Equal(t, "http://"+got.Header.Get("X-Forwarded-Host"), c.url)
		assert.Equal(t, got.Header.Get("Upgrade"), "")
		host, by := c.route.Address, []string{self}
		if where == inProcess {
			host, by = strings.TrimPrefix(c.url, "http://"), nil
		}
		assert.Equal(t, got.Host, host)
		assert.Equal(t, got.Header.Get("Origin"), "http://"+host)
		assert.DeepEqual(t, got.Header["Canopy-Forwarded"], by)

		c.send(t, http.MethodGet, "/", "", "Origin", "https://other.example", "Canopy-Partition", "default")
		assert.Equal(t, got.Header.Get("Origin"), "https://other.example")
	})
}

func TestHTTP_CompressedBodiesArePassedOn(t *testing.T) {
	var compressed bytes.Buffer
	z := gzip.NewWriter(&compressed)
	_, err := z.Write(bytes.Repeat([]byte("state "), 100_000))
	assert.NilError(t, err)
	assert.NilError(t, z.Close())
	c := newWebChain(t, remote, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Check(t, r.Header.Get("Accept-Encoding") == "gzip")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(compressed.Bytes())
	}))
	res := c.send(t, http.MethodGet, "/", "", "Accept-Encoding", "gzip")
	assert.Equal(t, res.Header.Get("Content-Encoding"), "gzip")
	assert.Assert(t, read(t, res) == compressed.String())
}

func TestHTTP_EventStreams(t *testing.T) {
	inAllPlaces(t, func(t *testing.T, where place) {
		next, ended := make(chan struct{}), make(chan struct{})
		c := newWebChain(t, where, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for i := 0; r.Context().Err() == nil; i++ {
				_, _ = fmt.Fprintf(w, "data: %d\n", i)
				_ = http.NewResponseController(w).Flush()
				select {
				case <-next:
				case <-r.Context().Done():
				}
			}
			close(ended)
		}))
		ctx, cancel := context.WithCancel(bounded(t))
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+"/", http.NoBody)
		assert.NilError(t, err)
		res, err := c.client.Do(r)
		assert.NilError(t, err)
		defer func() { _ = res.Body.Close() }()
		lines := bufio.NewReader(res.Body)
		for i := range 3 { // the next event is sent after this one has come
			line, err := lines.ReadString('\n')
			assert.NilError(t, err)
			assert.Equal(t, line, fmt.Sprintf("data: %d\n", i))
			next <- struct{}{}
		}
		cancel()
		<-ended // the end of the client reaches the server
	})
}

// A body that the server has not finished does not look complete.
func TestHTTP_AbortedBodies(t *testing.T) {
	inAllPlaces(t, func(t *testing.T, where place) {
		c := newWebChain(t, where, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "half of it")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}))
		res := c.send(t, http.MethodGet, "/", "")
		assert.Equal(t, res.StatusCode, http.StatusOK)
		_, err := io.ReadAll(res.Body)
		assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
	})
}

// wantRefused checks an answer of the forwarder itself.
func wantRefused(t *testing.T, res *http.Response, want int, texts ...string) {
	t.Helper()
	var got dao.Error
	assert.NilError(t, json.NewDecoder(res.Body).Decode(&got))
	assert.Equal(t, res.StatusCode, want, got.Message)
	assert.Equal(t, got, dao.NewError(want, got.Message))
	for _, text := range texts {
		assert.Assert(t, is.Contains(got.Message, text))
	}
	retry := ""
	if want == http.StatusServiceUnavailable {
		retry = "1"
	}
	assert.Equal(t, res.Header.Get("Retry-After"), retry)
}

func TestHTTP_NotSent(t *testing.T) {
	c := newWebChain(t, remote, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	dead := newTCPListener(t)
	assert.NilError(t, dead.Close())
	const target = "/ws/v1/partition/default/queues"
	leader := c.route

	wantRefused(t, c.send(t, http.MethodGet, target, "", "Canopy-Forwarded", "m2"), 503, `partition "default"`, `"m2"`, leader.Address)
	assert.Equal(t, c.at.accepted(), 0)
	wantRefused(t, c.send(t, http.MethodGet, target, ""), 503, `partition "default"`, leader.Address, "was lost")

	c.route = Route{}
	wantRefused(t, c.send(t, http.MethodGet, target, ""), 503, `partition "default"`, "does not know")
	c.route = Route{Address: dead.Addr().String()}
	wantRefused(t, c.send(t, http.MethodPut, target, "body"), 503, `partition "default"`, c.route.Address, "cannot be reached")
	c.route = Route{Dial: func(context.Context) (net.Conn, error) { return nil, errors.New("the term is over") }}
	wantRefused(t, c.send(t, http.MethodGet, target, ""), 503, "member "+self, "the term is over")

	wantRefused(t, c.send(t, http.MethodGet, "/ws/v1/partition/none/queues", ""), 404, "but: default")
	wantRefused(t, c.send(t, http.MethodGet, target+"?partition=other", ""), 400, `"default"`, `"other"`)
	r := httptest.NewRequest(http.MethodConnect, "/", nil)
	w := httptest.NewRecorder()
	c.forwarder.HTTP().ServeHTTP(w, r)
	assert.Equal(t, w.Code, http.StatusMethodNotAllowed)

	c.route = leader
	c.forwarder.Close()
	wantRefused(t, c.send(t, http.MethodGet, target, ""), 503, "ends")
}

func TestHTTP_OfTheMemberItself(t *testing.T) {
	own := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "own") })
	c := newWebChain(t, inProcess, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "leader") }), func(o *Options) {
		o.Local, o.IsLocal = own, func(path string) bool { return path == "/readyz" }
	})
	for target, want := range map[string]string{"/readyz": "own", "/readyz?partition=default": "leader", "/readyz/": "leader", "/": "leader"} {
		assert.Equal(t, read(t, c.send(t, http.MethodGet, target, "")), want, target)
	}
}

func TestHTTP_ConnectionsAreUsedAgain(t *testing.T) {
	inAllPlaces(t, func(t *testing.T, where place) {
		c := newWebChain(t, where, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "a") }))
		for range 3 {
			assert.Equal(t, read(t, c.send(t, http.MethodGet, "/", "")), "a")
		}
		assert.Equal(t, c.at.accepted(), 1)
		if where == inProcess {
			c.route.Epoch = 2
			assert.Equal(t, read(t, c.send(t, http.MethodGet, "/", "")), "a")
			assert.Equal(t, c.at.accepted(), 2)
		}
	})
}
