package web

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// outsideNames are names that every object of JavaScript has, for resources of the demo.
var outsideNames = map[string]string{`"vcore"`: `"constructor"`, `"memory"`: `"__proto__"`,
	`"nvidia.com/gpu"`: `"toString"`, `"pods"`: `"valueOf"`}

// renamed serves a server with the resources renamed in every answer but the stream of changes.
func renamed(t *testing.T, s server) server {
	t.Helper()
	to, err := url.Parse(s.http)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.FlushInterval = -1
	direct := proxy.Director
	proxy.Director = func(r *http.Request) {
		direct(r)
		r.Host = to.Host
		r.Header.Set("Accept-Encoding", "identity")
	}
	proxy.ModifyResponse = func(r *http.Response) error {
		if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
			return nil
		}
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		for from, name := range outsideNames {
			text = bytes.ReplaceAll(text, []byte(from), []byte(name))
		}
		r.Body = io.NopCloser(bytes.NewReader(text))
		r.ContentLength = int64(len(text))
		r.Header.Set("Content-Length", strconv.Itoa(len(text)))
		return nil
	}
	front := httptest.NewServer(proxy)
	t.Cleanup(front.Close)
	return server{http: front.URL}
}

// A resource may be called constructor, and an address may name a view that does not exist: nothing stays blank.
func TestViews_OfNamesThatEveryObjectHas(t *testing.T) {
	s := renamed(t, busyDemo(t))
	p := openPage(t, s.http)
	for _, v := range []view{
		{"overview", "overview", ".meter"}, {"nodes", "nodes", ".cell"}, {"queues", "queues?queue=root", ".meter"},
		{"asks", "asks?sort=constructor", ".vlist"},
		{"applications", "applications", ".vlist"}, {"users", "users", ".page"}, {"preemptions", "preemptions", ".page"},
		{"events", "events", ".page"},
		{"no view", "constructor", ".meter"}, {"no view either", "__proto__", ".meter"},
	} {
		p.open(v.route, v.selector)
	}
}
