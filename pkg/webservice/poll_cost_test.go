package webservice

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/history"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// The size of a polledCluster.
const (
	polledParents     = 20
	polledLeaves      = 1_000
	polledNodes       = 200
	polledAllocations = 10_000
	polledChanges     = 40 // allocations that end, and begin, between two polls of a path
)

// polledCluster is a large partition that changes a little between two requests.
type polledCluster struct {
	*loop.Loop
	handler http.Handler
	oldest  int // the oldest allocation
	next    int // the next allocation
}

type historySink struct{ h *history.History }

func (s historySink) Deliver(effects []scheduler.Effect) { s.h.OnEffects("default", effects) }

func newPolledCluster(t testing.TB) *polledCluster {
	t.Helper()
	var text strings.Builder
	text.WriteString("partitions: [{name: default, queues: [{name: root, submitacl: '*', limits: [{limit: group, " +
		"groups: [group-0, group-1], maxresources: {vcore: 100000}}], queues: [")
	for parent := range polledParents {
		fmt.Fprintf(&text, "{name: p%02d, queues: [", parent)
		for leaf := range polledLeaves / polledParents {
			fmt.Fprintf(&text, "{name: l%02d, resources: {max: {vcore: 1000, memory: 1000G}}},", leaf)
		}
		text.WriteString("]},")
	}
	text.WriteString("]}]}]\n")
	conf, problems := queuesyaml.Load([]byte(text.String()))
	assert.Assert(t, !problems.HasErrors(), "%v", problems)
	h := history.New(nil)
	c := loop.NewCluster(loop.Options{}, func(string) loop.Sink { return historySink{h} }, nil)
	t.Cleanup(c.End)
	assert.NilError(t, c.Configure(t.Context(), conf))
	l, _ := c.Partition("default")
	p := &polledCluster{Loop: l, handler: Handler(c, Options{CacheBytes: DefaultCacheBytes, History: h})}
	var cmds []scheduler.Command
	total := resources.FromMap(map[string]resources.Quantity{"vcore": 1_000_000, "memory": 1 << 40, "pods": 110})
	for i := range polledNodes {
		id := fmt.Sprintf("node-%03d", i)
		cmds = append(cmds,
			scheduler.AddNode{Node: objects.NodeID(id), Total: total, Schedulable: true,
				Attributes: map[string]string{"si/hostname": id}})
	}
	for i := range polledLeaves {
		cmds = append(cmds, scheduler.AddApplication{
			App: polledApp(i), Queue: fmt.Sprintf("root.p%02d.l%02d", i%polledParents, i/polledParents),
			User: security.User{Name: fmt.Sprint("user-", i%17), Groups: []string{fmt.Sprint("group-", i%3)}},
		})
	}
	p.call(t, cmds)
	p.change(t, polledAllocations, 0)
	return p
}

func polledApp(i int) objects.AppID { return objects.AppID(fmt.Sprintf("app-%04d", i%polledLeaves)) }

func (p *polledCluster) call(t testing.TB, cmds []scheduler.Command) {
	t.Helper()
	_, err := p.Call(t.Context(), cmds...)
	assert.NilError(t, err)
}

// change begins and ends some allocations, and waits until all decisions are made and a snapshot has them.
func (p *polledCluster) change(t testing.TB, begin, end int) {
	t.Helper()
	var cmds []scheduler.Command
	key := func(i int) objects.AllocationKey { return objects.AllocationKey(fmt.Sprintf("allocation-%08d", i)) }
	for range begin {
		cmds = append(cmds, scheduler.SubmitAsk{Ask: &objects.Ask{
			Key: key(p.next), App: polledApp(p.next * 7919),
			Amounts: resources.FromMap(map[string]resources.Quantity{"vcore": 100, "memory": 1 << 28, "pods": 1}),
			Details: &objects.AskDetails{Tags: map[string]string{"kubernetes.io/meta/namespace": "default",
				"kubernetes.io/meta/podName": string(key(p.next))}},
		}})
		p.next++
	}
	for range end {
		cmds = append(cmds, scheduler.Release{App: polledApp(p.oldest * 7919), Key: key(p.oldest)})
		p.oldest++
	}
	p.call(t, cmds)
	for !p.Health().Idle {
		runtime.Gosched()
	}
	snap, err := p.Snapshot(t.Context())
	assert.NilError(t, err)
	assert.Equal(t, snap.Allocations, polledAllocations)
}

// poll is what one answer costs: allocated bytes, the least of some requests of which each follows a change.
// A garbage collection in between empties pools of buffers.
func (p *polledCluster) poll(t testing.TB, path string, gzipped bool) (cost uint64, answer int) {
	t.Helper()
	var costs []uint64
	for range 5 {
		p.change(t, polledChanges, polledChanges)
		r := httptest.NewRequest(http.MethodGet, path, nil)
		if gzipped {
			r.Header.Set("Accept-Encoding", "gzip")
		}
		w := &discardWriter{header: http.Header{}}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p.handler.ServeHTTP(w, r)
		runtime.ReadMemStats(&after)
		assert.Equal(t, w.status, http.StatusOK, path)
		costs, answer = append(costs, after.TotalAlloc-before.TotalAlloc), w.size
	}
	return slices.Min(costs), answer
}

// discardWriter is an http.ResponseWriter that counts what is written.
type discardWriter struct {
	header       http.Header
	status, size int
}

func (w *discardWriter) Header() http.Header { return w.header }
func (w *discardWriter) WriteHeader(n int)   { w.status = n }
func (w *discardWriter) Write(b []byte) (int, error) {
	w.size += len(b)
	return len(b), nil
}

const polledPartition = "/ws/v1/partition/default/"

// BenchmarkPoll reports the allocated bytes of one answer on each path that reads the state.
func BenchmarkPoll(b *testing.B) {
	p := newPolledCluster(b)
	for _, path := range []string{
		"/healthz", "/ws/v1/scheduler/healthcheck", "/ws/v1/partitions", polledPartition + "queues",
		polledPartition + "nodes",
		polledPartition + "node/node-001", polledPartition + "node/node-001/eviction-order",
		polledPartition + "queue/root.p00.l00/applications", polledPartition + "application/app-0001",
		polledPartition + "applications/active",
		polledPartition + "applications/completed", polledPartition + "usage/users", polledPartition + "usage/user/user-1",
		polledPartition + "usage/groups", polledPartition + "classquotas", polledPartition + "preemptions",
		"/ws/v1/events/batch",
	} {
		for _, gzipped := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s gzip=%t", path, gzipped), func(b *testing.B) {
				cost, answer := uint64(0), 0
				for range b.N {
					cost, answer = p.poll(b, path, gzipped)
				}
				b.ReportMetric(float64(cost), "allocated-B")
				b.ReportMetric(float64(answer), "answer-B")
			})
		}
	}
}

// An answer is made from shared parts and in pooled buffers: how much it allocates depends on what has changed
// since the last one, and not on its size (OBS-91). More than these bounds, in bytes, is a collector that runs while
// decisions wait.
func TestPoll_AllocatesLittle(t *testing.T) {
	if testscale.RaceDetector {
		t.Skip("with the race detector pools drop buffers at random")
	}
	p := newPolledCluster(t)
	for path, most := range map[string]uint64{
		"/ws/v1/events/batch":                   64 << 10,
		"/ws/v1/scheduler/healthcheck":          64 << 10,
		polledPartition + "nodes":               1500 << 10, // the new texts of 40 nodes are kept
		polledPartition + "applications/active": 600 << 10,
		polledPartition + "queues":              600 << 10,
		polledPartition + "usage/users":         200 << 10,
		polledPartition + "usage/user/user-1":   200 << 10,
		polledPartition + "usage/groups":        200 << 10,
		polledPartition + "usage/group/group-1": 200 << 10,
	} {
		for _, gzipped := range []bool{false, true} {
			cost, answer := p.poll(t, path, gzipped)
			t.Logf("%s, gzip %t: %d bytes allocated, %d bytes long", path, gzipped, cost, answer)
			assert.Assert(t, cost <= most, "%s, gzip %t: %d bytes allocated for an answer of %d, at most %d are allowed", path,
				gzipped, cost, answer, most)
		}
	}
}
