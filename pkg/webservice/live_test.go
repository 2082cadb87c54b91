package webservice_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// liveReader is a client of the stream of changes. Its messages are in the order of their arrival.
type liveReader struct {
	header   http.Header
	messages chan string
	failing  atomic.Bool // writes fail: the client does not read
	status   int
}

func (r *liveReader) Header() http.Header    { return r.header }
func (r *liveReader) WriteHeader(status int) { r.status = status }
func (r *liveReader) Flush()                 {}
func (r *liveReader) Write(text []byte) (int, error) {
	if r.failing.Load() {
		return 0, errors.New("the client does not read")
	}
	r.messages <- string(text)
	return len(text), nil
}

// follow opens the stream; ended is closed when it has ended.
func follow(ctx context.Context, h http.Handler) (r *liveReader, ended chan struct{}) {
	r, ended = &liveReader{header: http.Header{}, messages: make(chan string, 100)}, make(chan struct{})
	go func() {
		defer close(ended)
		h.ServeHTTP(r, httptest.NewRequestWithContext(ctx, http.MethodGet, "/ws/v1/live", nil))
	}()
	return r, ended
}

// next is the next message that says what has changed.
func (r *liveReader) next(t *testing.T) (body dao.Live) {
	t.Helper()
	text, found := strings.CutPrefix(<-r.messages, "event: changed\ndata: ")
	assert.Assert(t, found)
	text, found = strings.CutSuffix(text, "\n\n")
	assert.Assert(t, found && !strings.Contains(text, "\n"))
	assert.NilError(t, json.Unmarshal([]byte(text), &body))
	return body
}

// onLive runs a test on virtual time with a busy cluster and its handler.
func onLive(t *testing.T, opt webservice.Options, test func(t *testing.T, c *loop.Cluster, h http.Handler)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := busyCluster(t)
		test(t, c, webservice.Handler(c, opt))
	})
}

func TestLive_SaysWhatHasChanged(t *testing.T) {
	onLive(t, webservice.Options{}, func(t *testing.T, c *loop.Cluster, h http.Handler) {
		ctx, cancel := context.WithCancel(t.Context())
		r, ended := follow(ctx, h)
		first := r.next(t)
		assert.Equal(t, r.header.Get("Content-Type"), "text/event-stream")
		assert.Equal(t, r.header.Get("Cache-Control"), "no-store")
		assert.Equal(t, len(first.Partitions), 2)

		l, _ := c.Partition("default")
		began := time.Now()
		mustCall(t, l, scheduler.SetSchedulable{Node: "n1", Schedulable: false})
		second := r.next(t)
		assert.Assert(t, time.Since(began) <= time.Second)
		was, is := first.Partitions["default"], second.Partitions["default"]
		assert.Equal(t, is.Nodes, was.Nodes+1)
		assert.Equal(t, second.Partitions["empty"], first.Partitions["empty"])

		mustCall(t, l, scheduler.RemoveApplication{App: "app-3"})
		third := r.next(t).Partitions["default"]
		assert.Equal(t, third.Nodes, is.Nodes, "no node has changed")
		assert.Assert(t, third.Queues > is.Queues && third.Applications > is.Applications)
		cancel()
		<-ended
	})
}

// However much changes, a client gets one message a second; without a change it gets a comment every 15 s.
func TestLive_AtMostOncePerSecond(t *testing.T) {
	onLive(t, webservice.Options{}, func(t *testing.T, c *loop.Cluster, h http.Handler) {
		ctx, cancel := context.WithCancel(t.Context())
		r, ended := follow(ctx, h)
		r.next(t)
		l, _ := c.Partition("default")
		for i := range 100 {
			mustCall(t, l, scheduler.SetSchedulable{Node: "n1", Schedulable: i%2 == 1})
			time.Sleep(50 * time.Millisecond)
		}
		synctest.Wait()
		assert.Assert(t, len(r.messages) >= 4 && len(r.messages) <= 6, "%d messages in 5 s", len(r.messages))
		for len(r.messages) > 0 {
			<-r.messages
		}
		time.Sleep(16 * time.Second)
		synctest.Wait()
		var comments int
		for len(r.messages) > 0 {
			if strings.HasPrefix(<-r.messages, ": ") {
				comments++
			}
		}
		assert.Equal(t, comments, 1)
		cancel()
		<-ended
	})
}

func TestLive_IsBounded(t *testing.T) {
	onLive(t, webservice.Options{Bounds: webservice.Bounds{MaxLiveStreams: 2}}, func(t *testing.T, _ *loop.Cluster,
		h http.Handler) {
		ctx, cancel := context.WithCancel(t.Context())
		one, oneEnded := follow(ctx, h)
		one.next(t)
		two, twoEnded := follow(t.Context(), h)
		two.next(t)
		refused := httptest.NewRecorder()
		h.ServeHTTP(refused, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/ws/v1/live", nil))
		assert.Equal(t, refused.Code, http.StatusServiceUnavailable)
		assert.Equal(t, refused.Header().Get("Retry-After"), "30")
		assert.Assert(t, strings.Contains(refused.Body.String(), "too many pages are open: 2 get changes"))

		cancel()
		<-oneEnded
		two.failing.Store(true) // a client that does not read is given up, and its place is free
		<-twoEnded
		again, stop := context.WithCancel(t.Context())
		three, ended := follow(again, h)
		three.next(t)
		stop()
		<-ended
	})
}

func TestLive_EndsWithTheScheduler(t *testing.T) {
	closing := make(chan struct{})
	onLive(t, webservice.Options{Process: webservice.Process{Closing: closing}}, func(t *testing.T, _ *loop.Cluster,
		h http.Handler) {
		r, ended := follow(t.Context(), h)
		r.next(t)
		close(closing)
		<-ended
	})
}

func TestLive_TakesNoParameters(t *testing.T) {
	w := fetch(startCluster(t, clusterYAML), "/ws/v1/live?topic=queues")
	assert.Equal(t, w.Code, http.StatusBadRequest)
}
