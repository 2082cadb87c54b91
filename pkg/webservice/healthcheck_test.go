package webservice_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice"
)

const healthPath = "/ws/v1/scheduler/healthcheck"

// health is the JSON of a health check.
type health struct {
	Healthy      bool
	HealthChecks []struct {
		Name, Description, DiagnosisMessage string
		Succeeded                           bool
	}
}

func healthOf(t *testing.T, c *loop.Cluster) (h health, failed []string) {
	t.Helper()
	w := fetch(c, healthPath)
	assert.Equal(t, w.Code, http.StatusOK, "the status is 200 also if a check fails")
	assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &h))
	for _, x := range h.HealthChecks {
		if !x.Succeeded {
			failed = append(failed, x.Name+": "+x.DiagnosisMessage)
		}
	}
	assert.Equal(t, h.Healthy, len(failed) == 0)
	return h, failed
}

func TestGolden_HealthCheck(t *testing.T) {
	checkGolden(t, busyCluster(t), []answer{{"healthcheck", healthPath}})
	checkGolden(t, endedCluster(t), []answer{{"healthcheck", healthPath}})
	checkGolden(t, preemptionCluster(t), []answer{{"healthcheck", healthPath}})
}

// A node that has shrunk and invalid messages do not make the scheduler unhealthy (OBS-53).
func TestHealthCheck_BadRequestKeepsSchedulerHealthy(t *testing.T) {
	c := busyCluster(t)
	l, _ := c.Partition("default")
	mustCall(t, l, scheduler.SetCapacity{Node: "n1", Total: amounts(map[string]resources.Quantity{"vcore": 1})})
	for _, cmd := range []scheduler.Command{
		scheduler.AddNode{Node: "n1"}, scheduler.SetCapacity{Node: "none"}, scheduler.Release{App: "none", Key: "none"},
		scheduler.SubmitAsk{Ask: &objects.Ask{Key: "x", App: "none"}}, scheduler.AddApplication{App: "x", Queue: "root.none"},
	} {
		_, err := l.Call(t.Context(), cmd)
		assert.NilError(t, err)
	}
	h, _ := healthOf(t, c)
	assert.Assert(t, h.Healthy)
}

// Inconsistent accounting is found, and when it is consistent again the scheduler is healthy again.
func TestHealthCheck_FindsInconsistentAccounting(t *testing.T) {
	c := busyCluster(t)
	l, _ := c.Partition("default")
	snap, err := l.Snapshot(t.Context())
	assert.NilError(t, err)
	var bound *objects.Ask
	for n := range snap.Nodes.All() {
		for w := range n.Allocations.All() {
			bound = w.Ask
		}
	}
	right := bound.Amounts
	bound.Amounts = right.Add(right) // corrupts the state: an ask must never change after it was submitted
	audit := func() {
		_, err := l.Audit(t.Context())
		assert.NilError(t, err)
	}
	audit()
	_, failed := healthOf(t, c)
	assert.Equal(t, len(failed), 1, "%q", failed)
	assert.Assert(t, strings.HasPrefix(failed[0], "Accounting audit: partition default: "), failed[0])
	assert.Equal(t, fetch(c, "/healthz").Code, http.StatusServiceUnavailable)
	bound.Amounts = right
	audit()
	h, _ := healthOf(t, c)
	assert.Assert(t, h.Healthy)
}

// An overdue victim is named in a warning: the check succeeds, as the fault is not the scheduler's.
func TestHealthCheck_OverdueVictimsAreWarnings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conf, problems := queuesyaml.Load([]byte(preemptionYAML))
		assert.Assert(t, !problems.HasErrors(), "%v", problems)
		c := loop.NewCluster(loop.Options{}, func(string) loop.Sink { return discardSink{} }, nil)
		t.Cleanup(c.End)
		assert.NilError(t, c.Configure(t.Context(), conf))
		l, _ := c.Partition("default")
		vcore := func(n resources.Quantity) resources.Amounts {
			return amounts(map[string]resources.Quantity{"vcore": n})
		}
		ask := func(key string, vcores resources.Quantity, priority int32) *objects.Ask {
			return &objects.Ask{
				Key: objects.AllocationKey(key), App: "etl", Priority: priority, Created: objects.TimestampOf(time.Now()),
				Amounts: vcore(vcores),
				Policy:  objects.PolicySent | objects.PolicyAllowPreemptSelf | objects.PolicyAllowPreemptOther,
			}
		}
		mustCall(t, l, scheduler.AddApplication{App: "etl", Queue: "root.batch"},
			scheduler.AddNode{Node: "n1", Total: vcore(12), Schedulable: true})
		const victims = 12
		for i := range victims {
			mustCall(t, l, scheduler.ReportAllocation{Ask: ask("low-"+string(rune('a'+i)), 1, 0), Node: "n1"})
		}
		mustCall(t, l, scheduler.SubmitAsk{Ask: ask("high", victims, 10)})
		synctest.Wait()
		h, _ := healthOf(t, c)
		assert.Equal(t, h.HealthChecks[len(h.HealthChecks)-1].DiagnosisMessage, "")
		time.Sleep(6 * time.Minute) // the default is 5
		synctest.Wait()
		h, failed := healthOf(t, c)
		assert.Equal(t, len(failed), 0, "%q", failed)
		last := h.HealthChecks[len(h.HealthChecks)-1]
		assert.Equal(t, last.Name, "Overdue victims")
		assert.Assert(t, strings.HasPrefix(last.DiagnosisMessage,
			"partition default: allocation low-a of application etl was preempted at 2000-01-01T00:00:00Z and is still on "+
				"node n1; partition"), last.DiagnosisMessage)
		assert.Assert(t, strings.HasSuffix(last.DiagnosisMessage, "; and 2 more"), last.DiagnosisMessage)
	})
}

// A partition that does not answer makes the scheduler unhealthy; the check waits at most 5 s.
func TestHealthCheck_StuckPartitionIsUnhealthy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conf, _ := queuesyaml.Load([]byte(clusterYAML))
		clock := make(chan struct{})
		opt := loop.Options{Now: func() time.Time { <-clock; return time.Unix(0, 0) }}
		c := loop.NewCluster(opt, func(string) loop.Sink { return discardSink{} }, nil)
		t.Cleanup(c.End)
		t.Cleanup(func() { close(clock) })
		assert.NilError(t, c.Configure(t.Context(), conf))
		began := time.Now()
		_, failed := healthOf(t, c)
		assert.Equal(t, time.Since(began), 5*time.Second)
		assert.DeepEqual(t, failed,
			[]string{"Partitions answer: partition default: it does not answer: context deadline exceeded; " +
				"partition empty: it does not answer: context deadline exceeded"})
	})
}

func TestHealthCheck_StoppedSchedulerIsUnhealthy(t *testing.T) {
	c := startCluster(t, clusterYAML)
	c.End()
	_, failed := healthOf(t, c)
	assert.DeepEqual(t, failed,
		[]string{"Partitions answer: partition default: it does not answer: the scheduler has stopped; " +
			"partition empty: it does not answer: the scheduler has stopped"})
}

func TestHealthCheck_BeforeFirstConfiguration(t *testing.T) {
	c := loop.NewCluster(loop.Options{}, func(string) loop.Sink { return discardSink{} }, nil)
	t.Cleanup(c.End)
	h, _ := healthOf(t, c)
	assert.Assert(t, h.Healthy && len(h.HealthChecks) == 4)
}

// blockedCluster is a cluster whose loop blocks on delivering an effect until the test ends.
func blockedCluster(t *testing.T) (*loop.Cluster, *loop.Loop) {
	t.Helper()
	conf, problems := queuesyaml.Load([]byte(clusterYAML))
	assert.Assert(t, !problems.HasErrors(), "%v", problems)
	release := make(chan struct{})
	c := loop.NewCluster(loop.Options{SyncDelivery: true}, func(string) loop.Sink { return blockingSink(release) }, nil)
	t.Cleanup(c.End)
	t.Cleanup(func() { close(release) })
	assert.NilError(t, c.Configure(t.Context(), conf))
	l, _ := c.Partition("default")
	return c, l
}

// blockingSink is a sink that blocks until the channel is closed.
type blockingSink chan struct{}

func (w blockingSink) Deliver([]scheduler.Effect) { <-w }

func TestHealthz_AnswersWithoutTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := blockedCluster(t)
		live := func() (int, string) {
			began := time.Now()
			w := fetch(c, "/healthz")
			assert.Equal(t, time.Since(began), time.Duration(0), "it waited for the loop")
			return w.Code, w.Body.String()
		}
		synctest.Wait()
		code, _ := live()
		assert.Equal(t, code, http.StatusOK)
		l.Send(scheduler.AddNode{Node: "n1", Total: amounts(map[string]resources.Quantity{"vcore": 1}), Schedulable: true})
		synctest.Wait() // the loop delivers NodeAccepted, and blocks
		l.Send(scheduler.AddNode{Node: "n2"}, scheduler.AddNode{Node: "n3"})
		time.Sleep(29 * time.Second)
		code, body := live()
		assert.Equal(t, code, http.StatusOK, body)
		time.Sleep(2 * time.Second)
		code, body = live()
		assert.Equal(t, code, http.StatusServiceUnavailable)
		assert.Equal(t, body,
			`{"healthy":false,"reason":"partition default: it has been busy with one thing for 31s, and 2 commands wait"}`)
		_, failed := healthOf(t, c)
		assert.DeepEqual(t, failed,
			[]string{"Partitions answer: partition default: it does not answer: it has been busy with one thing for 31s, and " +
				"2 commands wait"})
	})
}

// A health request starts an audit if the last one is old, and does not wait for it.
func TestHealthz_StaleAuditIsRenewedAndShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conf, _ := queuesyaml.Load([]byte(clusterYAML))
		c := loop.NewCluster(loop.Options{}, func(string) loop.Sink { return discardSink{} }, nil)
		t.Cleanup(c.End)
		assert.NilError(t, c.Configure(t.Context(), conf))
		l, _ := c.Partition("default")
		synctest.Wait()
		// One handler, because it limits audits.
		h := webservice.Handler(c, webservice.Options{})
		get := func(path string) string {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
			return w.Body.String()
		}
		assert.Equal(t, get("/healthz"), `{"healthy":true}`, "before the first audit")
		synctest.Wait()
		first := l.Health().Audit.Finished
		assert.Assert(t, !first.IsZero(), "the request started no audit")
		time.Sleep(50 * time.Second)
		assert.Equal(t, get("/healthz"), `{"healthy":true}`)
		synctest.Wait()
		assert.Equal(t, l.Health().Audit.Finished, first, "an audit that is not old was made again")
		text := get(healthPath)
		assert.Assert(t,
			strings.Contains(text,
				`"Audits":[{"Partition":"default","Finished":"`+first.Format(time.RFC3339)+`","AgeSeconds":50`), text)
		time.Sleep(11 * time.Second)
		get("/healthz")
		synctest.Wait()
		assert.Assert(t, l.Health().Audit.Finished.After(first))
	})
}

// A partition that is not recorded any more is a warning with the reason (REC-6), if partitions are recorded.
func TestHealthCheck_RecordingThatHasEnded(t *testing.T) {
	c := busyCluster(t)
	var why error
	opt := webservice.Options{Sources: webservice.Sources{Recording: func(partition string) error {
		if partition == "default" {
			return why
		}
		return nil
	}}}
	for _, want := range []string{"", "partition default: the disk is full"} {
		var h health
		assert.NilError(t, json.Unmarshal(request(c, opt, http.MethodGet, healthPath).Body.Bytes(), &h))
		last := h.HealthChecks[len(h.HealthChecks)-1]
		assert.Equal(t, last.Name, "Recording")
		assert.Equal(t, last.DiagnosisMessage, want)
		assert.Assert(t, last.Succeeded && h.Healthy)
		why = errors.New("the disk is full")
	}
}
