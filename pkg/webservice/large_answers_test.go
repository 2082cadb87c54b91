package webservice

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// largeCluster returns a handler of a partition with 100 nodes, 5,000 allocations and 10,000 pending asks of 100
// applications in 50 queues. Its clock stands still, so that its answers are the same in every run.
func largeCluster(t testing.TB) http.Handler {
	t.Helper()
	var text strings.Builder
	text.WriteString("partitions: [{name: default, queues: [{name: root, submitacl: '*', queues: [")
	for i := range 50 {
		fmt.Fprintf(&text, "{name: q%02d, resources: {max: {vcore: 1000, memory: 1000G}}},", i)
	}
	text.WriteString("]}]}]\n")
	conf, problems := queuesyaml.Load([]byte(text.String()))
	assert.Assert(t, !problems.HasErrors(), "%v", problems)
	now := func() time.Time { return time.Unix(1_700_000_000, 0) }
	c := loop.NewCluster(loop.Options{Now: now}, func(string) loop.Sink { return discardSink{} }, nil)
	t.Cleanup(c.End)
	assert.NilError(t, c.Configure(t.Context(), conf))
	l, _ := c.Partition("default")
	var cmds []scheduler.Command
	total := resources.FromMap(map[string]resources.Quantity{"vcore": 50, "pods": 1000})
	for i := range 100 {
		cmds = append(cmds, scheduler.AddNode{Node: objects.NodeID(fmt.Sprintf("n%03d", i)), Total: total,
			Schedulable: true, Attributes: map[string]string{"si/hostname": fmt.Sprint("h", i)}},
			scheduler.AddApplication{App: objects.AppID(fmt.Sprintf("app-%03d", i)), Queue: fmt.Sprintf("root.q%02d", i%50),
				User: security.User{Name: fmt.Sprint("user-", i%7), Groups: []string{"g"}}})
	}
	for i := range 15_000 {
		cmds = append(cmds, scheduler.SubmitAsk{Ask: &objects.Ask{
			Key: objects.AllocationKey(fmt.Sprintf("key-%05d", i)), App: objects.AppID(fmt.Sprintf("app-%03d", i%100)),
			Amounts: resources.FromMap(map[string]resources.Quantity{"vcore": 1}),
			Details: &objects.AskDetails{Tags: map[string]string{"kubernetes.io/meta/namespace": "default",
				"kubernetes.io/meta/podName": fmt.Sprintf("pod-%05d", i)}},
		}})
	}
	_, err := l.Call(t.Context(), cmds...)
	assert.NilError(t, err)
	for !l.Health().Idle {
		runtime.Gosched()
	}
	snap, err := l.Snapshot(t.Context())
	assert.NilError(t, err)
	assert.Equal(t, snap.Allocations, 5_000)
	assert.Equal(t, snap.Asks, 10_000)
	return Handler(c, Options{Process: Process{Now: now}})
}

// BenchmarkLargeAnswer reports what the largest answers cost: each is made anew for each reader.
func BenchmarkLargeAnswer(b *testing.B) {
	h := largeCluster(b)
	for _, path := range []string{"asks?limit=10000", "nodes", "applications/active", "queues", "usage/users"} {
		for _, coding := range []string{"identity", "gzip"} {
			b.Run(path+" "+coding, func(b *testing.B) {
				b.ReportAllocs()
				for range b.N {
					w := httptest.NewRecorder()
					r := httptest.NewRequest(http.MethodGet, "/ws/v1/partition/default/"+path, nil)
					r.Header.Set("Accept-Encoding", coding)
					h.ServeHTTP(w, r)
					assert.Equal(b, w.Code, http.StatusOK)
					b.SetBytes(int64(w.Body.Len()))
				}
			})
		}
	}
}
