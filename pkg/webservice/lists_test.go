package webservice

import (
	"compress/gzip"
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
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
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

func newRandomCluster(t *testing.T, seed int64) *randomCluster {
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
	r.service = newService(c, Options{})
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

// queueBodyOf is a queue with all queues below it.
func queueBodyOf(q *scheduler.QueueView, above resources.Limit) dao.Queue {
	headroom := q.HeadroomBelow(above)
	v := dao.NewQueue(q, headroom, time.Time{})
	var children []dao.Queue
	for a := range q.Applications.All() {
		if a.State == lifecycle.Running {
			v.RunningApps++
		}
	}
	for child := range q.Children.All() {
		c := queueBodyOf(child, headroom)
		children = append(children, c)
		v.ChildNames = append(v.ChildNames, c.QueueName)
		v.RunningApps += c.RunningApps
	}
	if children != nil {
		v.Children = dao.List[dao.Queue](slices.Values(children))
	}
	return v
}

// marshalSnapshot is the expected text of the lists, which have no lists of their own that are made while they are
// written, apart from those of TestApplications_ListWhatWaitsAndWhatRuns.
func marshalSnapshot(t *testing.T, s *scheduler.Snapshot) map[string]string {
	nodes, apps := []dao.Node{}, []dao.Application{}
	for n := range s.Nodes.All() {
		nodes = append(nodes, dao.NewNode(n))
	}
	eachApplication(s.Root, true, func(a *scheduler.ApplicationView, path objects.QueuePath) bool {
		apps = append(apps, dao.NewApplication(s.Partition, s.At, path, a, nil))
		return true
	})
	root := queueBodyOf(s.Root, resources.Limit{})
	root.Partition = s.Partition
	return map[string]string{polledPartition + "nodes": marshalled(t, nodes),
		polledPartition + "applications/active": marshalled(t, apps), polledPartition + "queues": marshalled(t, root)}
}

const polledPartition = "/ws/v1/partition/default/"

// Lists show the snapshot, compressed or not.
func TestLists_EqualTheSnapshot(t *testing.T) {
	for seed := range int64(3) {
		r := newRandomCluster(t, seed)
		for range 40 {
			for range r.rng.IntN(30) {
				r.step()
			}
			for path, want := range marshalSnapshot(t, r.waitIdle()) {
				assert.Equal(t, string(r.get(path, false)), want, "seed %d: %s", seed, path)
				assert.Equal(t, string(r.get(path, true)), want, "seed %d: %s, gzipped", seed, path)
			}
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

// An object with very many allocations makes a large answer, also alone.
func TestLists_LongObjectsEqualTheSnapshot(t *testing.T) {
	r := newRandomCluster(t, 1)
	total := resources.FromMap(map[string]resources.Quantity{"vcore": 3000, "pods": 1000000})
	r.call(scheduler.AddNode{Node: "n1", Total: total, Schedulable: true},
		scheduler.AddNode{Node: "n2", Total: total, Schedulable: true})
	r.call(scheduler.AddApplication{App: "big", Queue: "root.c", User: security.User{Name: "u"}})
	r.call(scheduler.AddApplication{App: "small", Queue: "root.c", User: security.User{Name: "u"}})
	for i := range 10_000 {
		r.call(scheduler.SubmitAsk{Ask: &objects.Ask{
			Key: objects.AllocationKey(fmt.Sprint("k", i)), App: "big",
			Amounts: resources.FromMap(map[string]resources.Quantity{"vcore": 1}),
		}})
	}
	snap := r.waitIdle()
	assert.Assert(t, snap.Allocations > 5_000 && snap.Asks > 1_000, "%d allocations and %d asks", snap.Allocations,
		snap.Asks)
	lists := marshalSnapshot(t, snap)
	for path, want := range lists {
		assert.Assert(t, len(want) < pageBytes == strings.HasSuffix(path, "queues"))
		for _, gzipped := range []bool{false, true} {
			assert.Assert(t, string(r.get(path, gzipped)) == want, "%s, gzipped %t", path, gzipped)
		}
	}
	text := r.get(polledPartition+"application/big", false)
	assert.Assert(t, strings.Contains(lists[polledPartition+"applications/active"], string(text)))
	text = r.get(polledPartition+"node/n1", true)
	assert.Assert(t, strings.Contains(lists[polledPartition+"nodes"], string(text)))
}

// pageCounter is an http.ResponseWriter that looks at each write.
type pageCounter struct {
	*httptest.ResponseRecorder
	onWrite func(text []byte)
}

func (w pageCounter) Write(text []byte) (int, error) {
	w.onWrite(text)
	return w.ResponseRecorder.Write(text)
}

// A large answer is sent page by page while its elements are made: it is never in memory as a whole.
func TestLists_AreSentWhileTheyAreMade(t *testing.T) {
	for _, coding := range []string{"identity", "gzip"} {
		made, atFirstPage, longest := 0, 0, 0
		elements := func(yield func(dao.Ask) bool) {
			for made < 10_000 && yield(dao.Ask{AllocationKey: fmt.Sprint("key-", made), NominatedNode: "n1"}) {
				made++
			}
		}
		w := pageCounter{httptest.NewRecorder(), func(text []byte) {
			if atFirstPage == 0 {
				atFirstPage = made
			}
			longest = max(longest, len(text))
		}}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept-Encoding", coding)
		newService(nil, Options{}).writeJSON(w, r, http.StatusOK, dao.List[dao.Ask](elements))
		assert.Equal(t, made, 10_000)
		assert.Assert(t, 100 < atFirstPage && atFirstPage < 3_000, "%d elements before the first page", atFirstPage)
		assert.Assert(t, longest <= pageBytes, "%d bytes at once", longest)
	}
}

// A client that has the answer from an unchanged partition gets 304; each change, and each other query, has another
// tag.
func TestETag_UnchangedAnswersAreNotSentAgain(t *testing.T) {
	r := newRandomCluster(t, 1)
	total := resources.FromMap(map[string]resources.Quantity{"vcore": 10, "pods": 10})
	r.call(scheduler.AddNode{Node: "n1", Total: total, Schedulable: true})
	r.waitIdle()
	ask := func(path, has string) *httptest.ResponseRecorder {
		request := httptest.NewRequest(http.MethodGet, polledPartition+path, nil)
		request.Header.Set("If-None-Match", has)
		w := httptest.NewRecorder()
		r.handler.ServeHTTP(w, request)
		return w
	}
	tags := map[string]string{}
	for _, path := range []string{"nodes", "nodes?limit=1", "node/n1", "queues", "applications/active",
		"applications/completed", "usage/users", "usage/groups", "classquotas", "asks", "queue/root"} {
		first := ask(path, "")
		assert.Equal(t, first.Code, http.StatusOK, "%s: %s", path, first.Body)
		tags[path] = first.Header().Get("ETag")
		assert.Assert(t, strings.HasPrefix(tags[path], `W/"`), path)
		for _, has := range []string{tags[path], `"other", ` + tags[path], strings.TrimPrefix(tags[path], "W/"), "*"} {
			again := ask(path, has)
			assert.Equal(t, again.Code, http.StatusNotModified, "%s with %s", path, has)
			assert.Equal(t, again.Body.Len(), 0)
			assert.Equal(t, again.Header().Get("ETag"), tags[path])
		}
		assert.Equal(t, ask(path, `"other"`).Code, http.StatusOK, path)
	}
	assert.Assert(t, tags["nodes"] != tags["nodes?limit=1"])
	unknown := ask("node/n2", tags["node/n1"]+"x")
	assert.Equal(t, unknown.Code, http.StatusNotFound)
	assert.Equal(t, unknown.Header().Get("ETag"), "", "an error has no tag")
	r.call(scheduler.AddNode{Node: "n2", Total: total, Schedulable: true})
	r.waitIdle()
	for path, has := range tags {
		assert.Equal(t, ask(path, has).Code, http.StatusOK, "%s has changed", path)
	}
}

// Readers that come at the same time get whole answers.
func TestLists_ConcurrentReadersGetWholeAnswers(t *testing.T) {
	r := newRandomCluster(t, 1)
	for range 50 {
		r.step()
	}
	want := marshalSnapshot(t, r.waitIdle())[polledPartition+"queues"]
	done := make(chan string)
	for range 50 {
		go func() { done <- string(r.get(polledPartition+"queues", false)) }()
	}
	for range 50 {
		select {
		case got := <-done:
			assert.Equal(t, got, want)
		case <-time.After(20 * time.Second): // fails the test
			t.Fatal("readers were not answered within 20s")
		}
	}
}
