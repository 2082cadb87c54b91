package webservice

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

type discardSink struct{}

func (discardSink) Deliver([]scheduler.Effect) {}

const randomClusterYAML = `
partitions:
  - name: default
    placementrules: [{name: provided, create: true}]
    queues:
      - name: root
        submitacl: '*'
        limits:
          - {limit: g, users: [user0, "named@only"], groups: [g0], maxresources: {vcore: 100}, maxapplications: 90}
          - {limit: all, users: ['*'], maxapplications: 80}
        queues:
          - name: a
            resources: {max: {vcore: 40}}
            limits:
              - {limit: named, users: [user1], groups: [g1, g2],
                 maxresources: {vcore: 30, memory: 0}, maxapplications: 7}
              - {limit: rest, groups: ['*'], maxapplications: 9}
            queues: [{name: x, resources: {max: {vcore: 15, memory: 9G}}}, {name: y}]
          - {name: b, parent: true}
          - {name: c}
`

// randomCluster is a cluster that random commands change, and its REST interface.
type randomCluster struct {
	*loop.Loop
	t       *testing.T
	rng     *rand.Rand
	clock   atomic.Int64 // nanoseconds since 1970
	service *service
	handler http.Handler
	keys    int
	apps    []string
}

func newRandomCluster(t *testing.T, seed, cache int64) *randomCluster {
	t.Helper()
	conf, problems := queuesyaml.Load([]byte(randomClusterYAML))
	assert.Assert(t, !problems.HasErrors(), "%v", problems)
	r := &randomCluster{t: t, rng: rand.New(rand.NewPCG(uint64(seed), 7))}
	r.clock.Store(1_700_000_000_000_000_000)
	now := func() time.Time { return time.Unix(0, r.clock.Load()) }
	c := loop.NewCluster(loop.Options{Now: now}, func(string) loop.Sink { return discardSink{} }, nil)
	t.Cleanup(c.End)
	assert.NilError(t, c.Configure(t.Context(), conf))
	r.Loop, _ = c.Partition("default")
	r.service = newService(c, Options{CacheBytes: cache})
	r.handler = r.service.checkQuery(r.service.mux())
	return r
}

// call applies commands, at a time of their own: only commands let time pass, so a snapshot stays what the state is.
func (r *randomCluster) call(cmds ...scheduler.Command) {
	r.clock.Add(int64(100 * time.Millisecond))
	_, err := r.Call(r.t.Context(), cmds...)
	assert.NilError(r.t, err)
}

// step applies a random command; invalid ones are rejected.
func (r *randomCluster) step() {
	amounts := func(most int) resources.Amounts {
		return resources.FromMap(map[string]resources.Quantity{
			"vcore": resources.Quantity(r.rng.IntN(most)), "memory": resources.Quantity(r.rng.IntN(most) * 1000), "pods": 1,
		})
	}
	key := func() objects.AllocationKey {
		return objects.AllocationKey(fmt.Sprint("key<&>", r.rng.IntN(r.keys+1)))
	}
	switch n := r.rng.IntN(20); {
	case n < 2:
		r.call(scheduler.AddNode{
			Node: objects.NodeID(fmt.Sprintf("n%02d", r.rng.IntN(40))), Total: amounts(20000), Schedulable: true,
			Attributes: map[string]string{"si/hostname": "host \"é\\", "zone": "<a>"},
		})
	case n < 3:
		r.call(scheduler.RemoveNode{Node: objects.NodeID(fmt.Sprintf("n%02d", r.rng.IntN(40)))})
	case n < 6:
		app := fmt.Sprint("app-", r.rng.IntN(60))
		r.apps = append(r.apps, app)
		queues := []string{"root.a.x", "root.a.y", "root.c", "root.b.d" + fmt.Sprint(r.rng.IntN(9)), "root.b.deep.e"}
		r.call(scheduler.AddApplication{
			App: objects.AppID(app), Queue: queues[r.rng.IntN(len(queues))],
			User: security.User{Name: fmt.Sprint("user", r.rng.IntN(5)), Groups: []string{fmt.Sprint("g", r.rng.IntN(4))}},
		})
	case n < 15 && len(r.apps) > 0:
		for range 1 + r.rng.IntN(4) {
			r.keys++
			r.call(scheduler.SubmitAsk{Ask: &objects.Ask{
				Key: objects.AllocationKey(fmt.Sprint("key<&>", r.keys)), App: objects.AppID(r.apps[r.rng.IntN(len(r.apps))]),
				Amounts: amounts(3000), Priority: int32(r.rng.IntN(3)),
				Details: &objects.AskDetails{Tags: map[string]string{"\"requests\":[{": "\u2028"}},
			}})
		}
	case n < 18 && len(r.apps) > 0:
		r.call(scheduler.Release{App: objects.AppID(r.apps[r.rng.IntN(len(r.apps))]), Key: key()})
	case n < 19 && len(r.apps) > 0:
		r.call(scheduler.RemoveApplication{App: objects.AppID(r.apps[r.rng.IntN(len(r.apps))])})
	}
}

// get is the answer to a request, decompressed.
func (r *randomCluster) get(path string, gzipped bool) []byte {
	r.t.Helper()
	request := httptest.NewRequest(http.MethodGet, path, nil)
	if gzipped {
		request.Header.Set("Accept-Encoding", "gzip")
	}
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, request)
	assert.Equal(r.t, w.Code, http.StatusOK, "%.300s", w.Body)
	if w.Header().Get("Content-Encoding") != "gzip" {
		return w.Body.Bytes()
	}
	z, err := gzip.NewReader(w.Body)
	assert.NilError(r.t, err)
	text, err := io.ReadAll(z)
	assert.NilError(r.t, err)
	return text
}

// queueBodyOf is a queue with all queues below it, built without any cache.
func queueBodyOf(q *scheduler.QueueView, above resources.Limit) dao.Queue {
	headroom := q.HeadroomBelow(above)
	v := dao.NewQueue(q, headroom)
	for child := range q.Children.All() {
		c := queueBodyOf(child, headroom)
		v.Children = append(v.Children, c)
		v.AddChild(c.QueueName, c.RunningApps)
	}
	return v
}

// marshalSnapshot is the expected text of the lists: json.Marshal of the whole bodies.
func marshalSnapshot(t *testing.T, s *scheduler.Snapshot) map[string][]byte {
	nodes, apps := []dao.Node{}, []dao.Application{}
	for n := range s.Nodes.All() {
		nodes = append(nodes, wholeNode(n))
	}
	eachApplication(s.Root, true, func(a *scheduler.ApplicationView, path string) bool {
		v := wholeApplication(a)
		v.Partition, v.QueueName = s.Partition, path
		apps = append(apps, v)
		return true
	})
	root := queueBodyOf(s.Root, resources.Limit{})
	root.Partition = s.Partition
	out := map[string][]byte{}
	for path, body := range map[string]any{"nodes": nodes, "applications/active": apps, "queues": root} {
		text, err := json.Marshal(body)
		assert.NilError(t, err)
		out["/ws/v1/partition/default/"+path] = text
	}
	return out
}

// The streamed lists, partly encoded for earlier snapshots, are equal to json.Marshal of the whole.
func TestEncodedList_EqualsMarshallingTheSnapshot(t *testing.T) {
	for seed := range int64(6) {
		cache := []int64{DefaultCacheBytes, 20_000, 0}[seed%3]
		r := newRandomCluster(t, seed, cache)
		for range 40 {
			for range r.rng.IntN(30) {
				r.step()
			}
			snap := r.waitIdle()
			for path, want := range marshalSnapshot(t, snap) {
				for _, gzipped := range []bool{false, true} {
					got := r.get(path, gzipped)
					assert.Assert(t, bytes.Equal(got, want), "seed %d: %s, gzipped %t:\n%s\nwant\n%s", seed, path, gzipped, got, want)
				}
			}
			assert.Assert(t, r.service.cacheBudget.usedBytes.Load() <= cache, "%d bytes are kept, at most %d are allowed",
				r.service.cacheBudget.usedBytes.Load(), cache)
		}
	}
}

// waitIdle returns the snapshot after all decisions are made.
func (r *randomCluster) waitIdle() *scheduler.Snapshot {
	for !r.Health().Idle {
		runtime.Gosched()
	}
	snap, err := r.Snapshot(r.t.Context())
	assert.NilError(r.t, err)
	return snap
}

// An object with very many allocations is encoded piece by piece, for each reader anew.
func TestEncodedList_LongObjectsEqualMarshalling(t *testing.T) {
	r := newRandomCluster(t, 1, DefaultCacheBytes)
	total := resources.FromMap(map[string]resources.Quantity{"vcore": 3 * longListLength, "pods": 1000000})
	r.call(scheduler.AddNode{Node: "n1", Total: total, Schedulable: true},
		scheduler.AddNode{Node: "n2", Total: total, Schedulable: true})
	r.call(scheduler.AddApplication{App: "big", Queue: "root.c", User: security.User{Name: "u"}})
	r.call(scheduler.AddApplication{App: "small", Queue: "root.c", User: security.User{Name: "u"}})
	for i := range 10 * longListLength {
		r.call(scheduler.SubmitAsk{Ask: &objects.Ask{
			Key: objects.AllocationKey(fmt.Sprint("k", i)), App: "big",
			Amounts: resources.FromMap(map[string]resources.Quantity{"vcore": 1}),
		}})
	}
	snap := r.waitIdle()
	assert.Assert(t, snap.Allocations > 5*longListLength && snap.Asks > longListLength, "%d allocations and %d asks",
		snap.Allocations, snap.Asks)
	for path, want := range marshalSnapshot(t, snap) {
		assert.Assert(t, len(want) < pageBytes == strings.HasSuffix(path, "queues"))
		for _, gzipped := range []bool{false, true} {
			assert.Assert(t, bytes.Equal(r.get(path, gzipped), want), "%s, gzipped %t", path, gzipped)
		}
	}
	text := r.get("/ws/v1/partition/default/application/big", false)
	assert.Assert(t, bytes.Contains(marshalSnapshot(t, snap)["/ws/v1/partition/default/applications/active"], text))
	text = r.get("/ws/v1/partition/default/node/n1", true)
	assert.Assert(t, bytes.Contains(marshalSnapshot(t, snap)["/ws/v1/partition/default/nodes"], text))
}

// The elements of a list are compressed one by one if they are large enough; the stream decompresses to the list.
func TestEncodedList_DeflatedElementsMakeOneGzipStream(t *testing.T) {
	r := newRandomCluster(t, 1, DefaultCacheBytes)
	total := resources.FromMap(map[string]resources.Quantity{"vcore": 1000, "pods": 1000000})
	for i := range 40 {
		r.call(scheduler.AddNode{Node: objects.NodeID(fmt.Sprint("n", i)), Total: total, Schedulable: true})
	}
	r.call(scheduler.AddApplication{App: "app", Queue: "root.c", User: security.User{Name: "u"}})
	for i := range 800 {
		r.call(scheduler.SubmitAsk{Ask: &objects.Ask{
			Key: objects.AllocationKey(fmt.Sprint("k", i)), App: "app",
			Amounts: resources.FromMap(map[string]resources.Quantity{"vcore": 50}),
		}})
	}
	const path = "/ws/v1/partition/default/nodes"
	want := marshalSnapshot(t, r.waitIdle())[path]
	assert.Assert(t, len(want) > pageBytes)
	assert.Assert(t, bytes.Equal(r.get(path, true), want))
	l, _ := r.service.cluster.Partition("default")
	gzipped := 0
	for _, x := range r.service.nodeLists.entry(l).last.elements {
		gzipped += len(x.deflated)
	}
	assert.Assert(t, gzipped > 0 && gzipped < len(want)/3, "%d bytes gzipped of %d", gzipped, len(want))
}

// The text of a view is not encoded again while the view is unchanged.
func TestEncodedList_UnchangedViewsAreNotEncodedAgain(t *testing.T) {
	encoded := 0
	view := func(i int) *scheduler.NodeView {
		return &scheduler.NodeView{ID: objects.NodeID(fmt.Sprintf("n%03d", i))}
	}
	var views []*scheduler.NodeView
	for i := range 200 {
		views = append(views, view(2*i))
	}
	list := &listSource{
		each: func(_ *scheduler.Snapshot, yield func(any, string) bool) {
			for _, v := range views {
				if !yield(v, "") {
					return
				}
			}
		},
		compare: nodeList.compare,
		pieces: func(e *encoder, _ *scheduler.Snapshot, v any, _ string) (pieces, bool) {
			encoded++
			return nodePieces(e, v.(*scheduler.NodeView))
		},
	}
	a := &cacheBudget{maxBytes: DefaultCacheBytes}
	var last *encodedList
	next := func() int {
		encoded = 0
		last = a.encodeList(t.Context(), list, &scheduler.Snapshot{}, last)
		assert.Equal(t, len(last.elements), len(views))
		return encoded
	}
	assert.Equal(t, next(), 200)
	assert.Equal(t, next(), 0)
	views[7], views[150] = view(14), view(300)
	assert.Equal(t, next(), 2, "encoded after two views changed")
	views = append(views[:20:20], views[120:]...)
	assert.Equal(t, next(), 0, "encoded after a hundred views were removed")
	views = slices.Insert(slices.Insert(views, 11, view(21)), 10, view(19))
	assert.Equal(t, next(), 2, "encoded after two views were added")
	assert.Equal(t, a.usedBytes.Load(), last.bytes)
}

// Readers that come while a list is encoded share the next encoding.
func TestEncodedList_ConcurrentReadersShareEncodings(t *testing.T) {
	r := newRandomCluster(t, 1, 0) // nothing is kept
	for range 50 {
		r.step()
	}
	before := r.waitIdle()
	done := make(chan int)
	for range 50 {
		go func() { done <- len(r.get("/ws/v1/partition/default/queues", false)) }()
	}
	size := len(marshalSnapshot(t, before)["/ws/v1/partition/default/queues"])
	for range 50 {
		select {
		case n := <-done:
			assert.Equal(t, n, size)
		case <-time.After(20 * time.Second): // fails the test
			t.Fatal("readers were not answered within 20s")
		}
	}
}
