package metrics_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/history"
	"github.com/canopy-scheduler/canopy/internal/loop"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/metrics"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const story = `
partitions:
  - name: default
    preemption: {nominationtimeout: 5m}
    queues:
      - name: root
        submitacl: '*'
        queues:
          - name: prod
            maxapplications: 9
            resources: {guaranteed: {vcore: 4}, max: {vcore: 8, memory: 8G}}
            properties: {preemption.delay: 1s}
          - name: batch
            properties: {preemption.priority: leaf}
  - name: empty
    queues: [{name: root, submitacl: '*'}]
`

// world is a cluster whose partitions are listened to.
type world struct {
	*loop.Cluster
	t       *testing.T
	metrics *metrics.Metrics
	past    *history.History
	logs    *observer.ObservedLogs
	stuck   chan struct{} // what is told from now on is not taken before this is closed; nil: it is
}

type sink func([]scheduler.Effect)

func (s sink) Deliver(effects []scheduler.Effect) { s(effects) }

// newWorld must be called in a bubble of synctest, which has a clock of its own.
func newWorld(t *testing.T, text string) *world {
	t.Helper()
	w := &world{t: t}
	w.past = history.New(nil)
	core, logs := observer.New(zap.InfoLevel)
	w.logs = logs
	w.metrics = metrics.New(metrics.Options{History: w.past, Log: zap.New(core)})
	w.metrics.CountLog(func() (dropped, omitted int64) { return 3, 14 })
	w.Cluster = loop.NewCluster(loop.Options{TellFirst: true}, func(partition string) loop.Sink {
		return sink(func(effects []scheduler.Effect) {
			if w.stuck != nil {
				<-w.stuck
			}
			w.past.Hear(partition, effects)
			w.metrics.Hear(partition, effects)
		})
	}, nil)
	t.Cleanup(w.End)
	w.configure(text)
	return w
}

func (w *world) configure(text string) {
	w.t.Helper()
	conf, problems := configs.Load([]byte(text))
	assert.Assert(w.t, !problems.HasErrors(), "%v", problems)
	assert.NilError(w.t, w.Configure(w.t.Context(), conf))
}

// tell sends commands to the partition default, and waits until what follows was decided and told.
func (w *world) tell(cmds ...scheduler.Command) {
	w.t.Helper()
	l, ok := w.Partition("default")
	assert.Assert(w.t, ok)
	_, err := l.Call(w.t.Context(), cmds...)
	assert.NilError(w.t, err)
	synctest.Wait()
}

func amounts(m map[string]resources.Quantity) resources.Amounts { return resources.FromMap(m) }

func vcore(n resources.Quantity) resources.Amounts {
	return amounts(map[string]resources.Quantity{"vcore": n})
}

func ask(key, app string, milli resources.Quantity, priority int32) *objects.Ask {
	return &objects.Ask{
		Key: objects.AllocationKey(key), App: objects.AppID(app), Priority: priority, Created: time.Now().Add(-time.Hour), Amounts: vcore(milli),
		Policy: objects.PolicySent | objects.PolicySelf | objects.PolicyOther,
	}
}

func join(app, queue string) scheduler.AddApplication {
	return scheduler.AddApplication{App: objects.AppID(app), User: security.User{Name: "ann"}, Queue: queue}
}

// busy is a world with something of everything: two were preempted, one of whom has left.
// It must be called in a bubble.
func busy(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, story)
	machine := amounts(map[string]resources.Quantity{"vcore": 4000, "memory": 8_000_000_000, "example.com/gpu": 2})
	w.tell(
		scheduler.AddNode{Node: "n1", Total: machine, Schedulable: true},
		scheduler.AddNode{Node: "n2", Total: vcore(4000), Schedulable: true},
		scheduler.AddNode{Node: "n2", Total: vcore(4000), Schedulable: true}, // refused
		scheduler.AddNode{Node: "n3", Total: vcore(1000)},
		join("web", "root.prod"), join("etl", "root.batch"), join("done", "root.batch"), join("lost", "root.nowhere"),
		join("idle", "root.batch"),
		scheduler.SubmitAsk{Ask: ask("etl-0", "nobody", 1, 0)}, // refused
		scheduler.SubmitAsk{Ask: ask("done-1", "done", 100, 0)},
	)
	w.tell(scheduler.RemoveApplication{App: "done"})
	w.tell(
		scheduler.ReportAllocation{Ask: ask("etl-1", "etl", 4000, 10), Node: "n1"},
		scheduler.ReportAllocation{Ask: ask("etl-2", "etl", 4000, 20), Node: "n2"},
	)
	w.tell(scheduler.SubmitAsk{Ask: ask("web-1", "web", 2000, 15)})
	w.tell(scheduler.Release{App: "etl", Key: "etl-1", Type: scheduler.PreemptedByScheduler})
	w.tell(scheduler.Release{App: "etl", Key: "etl-1", Type: scheduler.PreemptedByScheduler}) // nobody's
	w.tell(scheduler.SubmitAsk{Ask: ask("etl-3", "etl", 4000, 30)})
	w.tell(scheduler.SubmitAsk{Ask: ask("etl-4", "etl", 9000, 0)}) // finds no room
	time.Sleep(90 * time.Second)
	return w
}

// scrape asks as Prometheus does.
func (w *world) scrape(headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(w.t.Context(), http.MethodGet, "/metrics", nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	out := httptest.NewRecorder()
	w.metrics.Handler(w.Cluster).ServeHTTP(out, r)
	return out
}

// said is the lines of a scrape that begin like this. Nothing must be wrong with it.
func (w *world) said(prefixes ...string) string {
	w.t.Helper()
	out := w.scrape()
	assert.Equal(w.t, out.Code, http.StatusOK)
	assert.Equal(w.t, w.logs.Len(), 0, "%v", w.logs.All())
	var b strings.Builder
	for line := range strings.Lines(out.Body.String()) {
		for _, p := range prefixes {
			if name := strings.TrimPrefix(strings.TrimPrefix(line, "# HELP "), "# TYPE "); strings.HasPrefix(name, p) {
				b.WriteString(line)
			}
		}
	}
	return b.String()
}
