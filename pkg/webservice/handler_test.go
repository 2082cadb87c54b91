package webservice_test

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/webservice"
)

func TestHandler_NotFoundAndBadRequest(t *testing.T) {
	c := busyCluster(t)
	cases := []struct {
		name, target string
		code         int
		want         string
	}{
		{
			"unknown partition", "/ws/v1/partition/none/queues", 404,
			errorBody(404, "Partition not found"),
		}, {
			"unknown queue", "/ws/v1/partition/default/queue/root.none/applications", 404,
			errorBody(404, "Queue not found"),
		}, {
			"queue with the prefix of another", "/ws/v1/partition/default/queue/root.tenant.fairer/applications", 404,
			errorBody(404, "Queue not found"),
		}, {
			"unknown partition and queue", "/ws/v1/partition/none/queue/root.none/applications", 404,
			errorBody(404, "Partition not found"),
		}, {
			"invalid queue name", "/ws/v1/partition/default/queue/root.a+b/applications", 400,
			errorBody(400, `queue name "root.a b": each level is 1 to 64 letters, digits or any of _ : # / @ -`),
		}, {
			"invalid escape", "/ws/v1/partition/default/queue/root.a%25zz/applications", 400,
			errorBody(400, `queue name "root.a%zz": invalid URL escape "%zz"`),
		},
		{
			"unknown state", "/ws/v1/partition/default/applications/running", 400,
			errorBody(400, `state "running": it is one of active, rejected, completed`),
		}, {
			"unknown status", "/ws/v1/partition/default/applications/active?status=completed", 400,
			errorBody(400, `status "completed": it is one of new, accepted, running, completing, failing, resuming`),
		}, {
			"status of ended applications", "/ws/v1/partition/default/applications/rejected?status=new", 400,
			errorBody(400, "a status can be asked for with the state active only"),
		}, {
			"ended applications of a queue", "/ws/v1/partition/default/queue/root/applications/completed", 400,
			errorBody(400, `state "completed": a queue lists its active applications only`),
		}, {
			"user without applications", "/ws/v1/partition/default/usage/user/zoe", 404,
			errorBody(404, "User not found"),
		}, {
			"group without limits", "/ws/v1/partition/default/usage/group/dev", 404,
			errorBody(404, "Group not found"),
		}, {
			"unknown application", "/ws/v1/partition/default/application/none", 404,
			errorBody(404, "Application not found"),
		}, {
			"application of another queue", "/ws/v1/partition/default/queue/root.idle/application/app-1", 404,
			errorBody(404, "Application not found"),
		}, {
			"application of a queue below", "/ws/v1/partition/default/queue/root.tenant/application/app-1", 404,
			errorBody(404, "Application not found"),
		},
		{
			"unknown node", "/ws/v1/partition/default/node/n9", 404,
			errorBody(404, "Node not found"),
		},
		{
			"eviction order of an unknown node", "/ws/v1/partition/default/node/n9/eviction-order", 404,
			errorBody(404, "node n9 not found"),
		},
		{
			"eviction order by an unknown resource", "/ws/v1/partition/default/node/n1/eviction-order?resource=zzz", 400,
			errorBody(400, `resource "zzz": neither node n1 nor an allocation on it has any`),
		},
		{"unknown path", "/ws/v1/none", 404, "404 page not found\n"},
		{"unknown path with a trailing slash", "/ws/v1/none/", 404, "404 page not found\n"},
		{"unknown key", "/ws/v1/partition/default/ask/a%2520b/explain", 404,
			errorBody(404, `no ask or allocation has the key "a b"`, `"allocationKey":"a b","state":"unknown"`)},
		{"former route of explain", "/ws/v1/partition/default/ask/a/why", 404, "404 page not found\n"},
	}
	for _, x := range cases {
		t.Run(x.name, func(t *testing.T) {
			w := fetch(c, x.target)
			assert.Equal(t, w.Code, x.code)
			assert.Equal(t, w.Body.String(), x.want)
		})
	}
}

func TestHandler_Methods(t *testing.T) {
	c := startCluster(t, clusterYAML)
	const target = "/ws/v1/partition/default/queues"

	w := request(c, webservice.Options{}, http.MethodPost, target)
	assert.Equal(t, w.Code, http.StatusMethodNotAllowed)
	assert.Equal(t, w.Body.String(), "Method Not Allowed\n")

	w = request(c, webservice.Options{}, http.MethodOptions, target)
	assert.Equal(t, w.Code, http.StatusOK)
	assert.Equal(t, w.Header().Get("Allow"), "GET, OPTIONS")

	w = request(c, webservice.Options{}, http.MethodOptions, "/ws/v1/partition/default/preemptions/dry-run")
	assert.Equal(t, w.Header().Get("Allow"), "POST, OPTIONS")
}

func TestHandler_TrailingSlashIsRedirected(t *testing.T) {
	c := startCluster(t, clusterYAML)
	w := fetch(c, "/ws/v1/partition/default/queue/root.a%252Fb/applications/?x=1")
	assert.Equal(t, w.Code, http.StatusMovedPermanently)
	assert.Equal(t, w.Header().Get("Location"), "/ws/v1/partition/default/queue/root.a%252Fb/applications?x=1")

	w = fetch(c, "//example.org/ws/v1/partitions/")
	assert.Assert(t, w.Header().Get("Location") != "//example.org/ws/v1/partitions", "redirect to another host")
}

func TestGzip_LongAnswerIsCompressedIfAccepted(t *testing.T) {
	c := busyCluster(t)
	const target = "/ws/v1/partition/default/queues"
	plain := fetch(c, target).Body.String()
	for _, accept := range []string{"gzip", "deflate, GZIP;q=0.5", "br,gzip"} {
		w := fetch(c, target, "Accept-Encoding", accept)
		assert.Equal(t, w.Header().Get("Content-Encoding"), "gzip", accept)
		z, err := gzip.NewReader(w.Body)
		assert.NilError(t, err)
		got, err := io.ReadAll(z)
		assert.NilError(t, err)
		assert.Equal(t, string(got), plain)
	}
	for _, accept := range []string{"", "gzip;q=0", "br"} {
		assert.Equal(t, fetch(c, target, "Accept-Encoding", accept).Body.String(), plain, accept)
	}
	short := fetch(c, "/ws/v1/partition/default/ask/none/explain", "Accept-Encoding", "gzip")
	assert.Equal(t, short.Header().Get("Content-Encoding"), "")
}

func TestHealthz_StatusCodes(t *testing.T) {
	w := fetch(busyCluster(t), "/healthz")
	assert.Equal(t, w.Code, http.StatusOK)
	assert.Equal(t, w.Body.String(), `{"healthy":true}`)

	ended := startCluster(t, clusterYAML)
	ended.End()
	w = fetch(ended, "/healthz")
	assert.Equal(t, w.Code, http.StatusServiceUnavailable)
	assert.Equal(t, w.Body.String(), `{"healthy":false,"reason":"partition default: the scheduler has stopped"}`)
}

func TestReadyz_StatusCodes(t *testing.T) {
	c := startCluster(t, clusterYAML)
	w := fetch(c, "/readyz")
	assert.Equal(t, w.Code, http.StatusOK)
	assert.Equal(t, w.Body.String(), `{"ready":true}`)

	noneYet := func() error { return errors.New("no resource manager has registered") }
	notYet := webservice.Options{Process: webservice.Process{ReadyCheck: noneYet}}
	w = request(c, notYet, http.MethodGet, "/readyz")
	assert.Equal(t, w.Code, http.StatusServiceUnavailable)
	assert.Equal(t, w.Body.String(), `{"ready":false,"reason":"no resource manager has registered"}`)
}

func TestHandler_StoppedSchedulerIsUnavailable(t *testing.T) {
	c := startCluster(t, clusterYAML)
	c.End()
	for _, target := range []string{"partitions", "partition/default/nodes", "partition/default/ask/x/explain"} {
		w := fetch(c, "/ws/v1/"+target)
		assert.Equal(t, w.Code, http.StatusServiceUnavailable, target)
		assert.Equal(t, w.Body.String(), errorBody(503, "the scheduler has stopped"))
	}
}

func TestHandler_CancelledRequestIsNotWaitedFor(t *testing.T) {
	conf, _ := queuesyaml.Load([]byte(clusterYAML))
	clock := make(chan struct{})
	opt := loop.Options{Now: func() time.Time { <-clock; return time.Unix(0, 0) }}
	c := loop.NewCluster(opt, func(string) loop.Sink { return discardSink{} }, nil)
	t.Cleanup(c.End)
	t.Cleanup(func() { close(clock) })
	assert.NilError(t, c.Configure(t.Context(), conf))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/ws/v1/partition/default/nodes", nil)
	w := httptest.NewRecorder()
	webservice.Handler(c, webservice.Options{}).ServeHTTP(w, r)
	assert.Equal(t, w.Code, http.StatusServiceUnavailable)
}

func TestHandler_BeforeFirstConfiguration(t *testing.T) {
	c := loop.NewCluster(loop.Options{}, func(string) loop.Sink { return discardSink{} }, nil)
	t.Cleanup(c.End)
	assert.Equal(t, fetch(c, "/ws/v1/partitions").Body.String(), "[]")
	assert.Equal(t, fetch(c, "/healthz").Body.String(), `{"healthy":true}`)
}
