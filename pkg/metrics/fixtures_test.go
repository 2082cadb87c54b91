package metrics_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/forecast"
	"github.com/canopy-scheduler/canopy/internal/server/history"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/metrics"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const clusterYAML = `
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

// fixture is a cluster whose effects are delivered to history and metrics.
type fixture struct {
	*loop.Cluster
	t             *testing.T
	metrics       *metrics.Metrics
	history       *history.History
	logs          *observer.ObservedLogs
	blockDelivery atomic.Pointer[chan struct{}] // if it is not nil, deliveries of effects block until it is closed
}

type sinkFunc func([]scheduler.Effect)

func (s sinkFunc) Deliver(effects []scheduler.Effect) { s(effects) }

// newFixture must be called within synctest.Test, whose clock it uses.
func newFixture(t *testing.T, text string) *fixture {
	t.Helper()
	w := &fixture{t: t}
	w.history = history.New(nil)
	core, logs := observer.New(zap.InfoLevel)
	w.logs = logs
	w.metrics = metrics.New(metrics.Options{History: w.history, Log: zap.New(core)})
	w.metrics.SetLogSource(func() (dropped, omitted int64) { return 3, 14 })
	w.metrics.SetConfigSource(func() metrics.Config {
		return metrics.Config{Generation: 7, HasStore: true, Stored: true,
			Rejections: map[string]uint64{"file": 2, "rest": 0}}
	})
	w.metrics.SetForecastSource(func(string) forecast.Calibration {
		return forecast.Calibration{Started: 20, WithinP10: 3, WithinP50: 11, WithinP90: 17,
			MedianError: 1500 * time.Millisecond, Withdrawn: 4, Open: 2}
	})
	w.metrics.SetRecordingSource(func(partition string) uint64 { return uint64(len(partition)) })
	w.metrics.SetHealthSource(func() bool { return true })
	w.metrics.SetHASource(func() metrics.HA { return metrics.HA{Leader: true, Epoch: 7} })
	w.metrics.SetSecuritySource(func() metrics.Security {
		return metrics.Security{Refused: map[string]uint64{"missing": 4, "role": 1},
			CertificateExpires: time.Unix(1_900_000_000, 0)}
	})
	w.Cluster = loop.NewCluster(loop.Options{SyncDelivery: true}, func(partition string) loop.Sink {
		return sinkFunc(func(effects []scheduler.Effect) {
			if blocked := w.blockDelivery.Load(); blocked != nil {
				<-*blocked
			}
			w.history.OnEffects(partition, effects)
			w.metrics.OnEffects(partition, effects)
		})
	}, nil)
	t.Cleanup(w.End)
	w.configure(text)
	return w
}

func (w *fixture) configure(text string) {
	w.t.Helper()
	conf, problems := queuesyaml.Load([]byte(text))
	assert.Assert(w.t, !problems.HasErrors(), "%v", problems)
	assert.NilError(w.t, w.Configure(w.t.Context(), conf))
}

// call sends commands to the partition default, and waits until the decisions that follow are made and delivered.
func (w *fixture) call(cmds ...scheduler.Command) {
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
		Key: objects.AllocationKey(key), App: objects.AppID(app), Priority: priority,
		Created: objects.TimestampOf(time.Now().Add(-time.Hour)), Amounts: vcore(milli),
		Policy: objects.PolicySent | objects.PolicyAllowPreemptSelf | objects.PolicyAllowPreemptOther,
	}
}

func addApplication(app, queue string) scheduler.AddApplication {
	return scheduler.AddApplication{App: objects.AppID(app), User: security.User{Name: "ann"}, Queue: queue}
}

// busyFixture has a value for every family: two allocations were preempted, one of them is confirmed.
// It must be called within synctest.Test.
func busyFixture(t *testing.T) *fixture {
	t.Helper()
	w := newFixture(t, clusterYAML)
	machine := amounts(map[string]resources.Quantity{"vcore": 4000, "memory": 8_000_000_000, "example.com/gpu": 2})
	w.call(
		scheduler.AddNode{Node: "n1", Total: machine, Schedulable: true},
		scheduler.AddNode{Node: "n2", Total: vcore(4000), Schedulable: true},
		scheduler.AddNode{Node: "n2", Total: vcore(4000), Schedulable: true}, // refused
		scheduler.AddNode{Node: "n3", Total: vcore(1000)},
		addApplication("web", "root.prod"), addApplication("etl", "root.batch"), addApplication("done", "root.batch"),
		addApplication("lost", "root.nowhere"),
		addApplication("idle", "root.batch"),
		scheduler.SubmitAsk{Ask: ask("etl-0", "none", 1, 0)}, // refused
		scheduler.SubmitAsk{Ask: ask("done-1", "done", 100, 0)},
	)
	w.call(scheduler.RemoveApplication{App: "done"})
	w.call(
		scheduler.ReportAllocation{Ask: ask("etl-1", "etl", 4000, 10), Node: "n1"},
		scheduler.ReportAllocation{Ask: ask("etl-2", "etl", 4000, 20), Node: "n2"},
	)
	w.call(scheduler.SubmitAsk{Ask: ask("web-1", "web", 2000, 15)})
	w.call(scheduler.Release{App: "etl", Key: "etl-1", Type: scheduler.PreemptedByScheduler})
	w.call(scheduler.Release{App: "etl", Key: "etl-1", Type: scheduler.PreemptedByScheduler}) // unknown by now
	w.call(scheduler.SubmitAsk{Ask: ask("etl-3", "etl", 4000, 30)})
	w.call(scheduler.SubmitAsk{Ask: ask("etl-4", "etl", 9000, 0)}) // fits no node
	time.Sleep(90 * time.Second)
	return w
}

// scrape requests a scrape as Prometheus does.
func (w *fixture) scrape(headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(w.t.Context(), http.MethodGet, "/metrics", nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	out := httptest.NewRecorder()
	w.metrics.Handler(w.Cluster).ServeHTTP(out, r)
	return out
}

// scrapeLines returns the lines of a scrape about names with one of the prefixes. Nothing must have been logged.
func (w *fixture) scrapeLines(prefixes ...string) string {
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
