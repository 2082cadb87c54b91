package webservice_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/history"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
	"github.com/canopy-scheduler/canopy/pkg/webservice"
)

// historySink passes effects to a history, and then signals each rejected node.
type historySink struct {
	h         *history.History
	partition string
	refused   chan struct{}
}

func (l historySink) Deliver(effects []scheduler.Effect) {
	l.h.OnEffects(l.partition, effects)
	for _, e := range effects {
		if _, is := e.(scheduler.NodeRejected); is {
			l.refused <- struct{}{}
		}
	}
}

// The 404 of an unknown key says what became of it, as far as the history is kept; a key that was used
// again has its latest record.
func TestExplain_UnknownKeyIsLookedUpInHistory(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	now := func() time.Time { return noon }
	h := history.New(now)
	conf, _ := queuesyaml.Load([]byte(clusterYAML))
	refused := make(chan struct{}, 10)
	c := loop.NewCluster(loop.Options{Now: now},
		func(partition string) loop.Sink { return historySink{h, partition, refused} }, nil)
	t.Cleanup(c.End)
	assert.NilError(t, c.Configure(t.Context(), conf))
	l, _ := c.Partition("default")
	vcore := func(n resources.Quantity) resources.Amounts {
		return amounts(map[string]resources.Quantity{"vcore": n})
	}
	ask := func(key string, n resources.Quantity) scheduler.SubmitAsk {
		return scheduler.SubmitAsk{Ask: &objects.Ask{Key: objects.AllocationKey(key), App: "app", Amounts: vcore(n)}}
	}
	call := func(cmds ...scheduler.Command) {
		t.Helper()
		_, err := l.Call(t.Context(), cmds...)
		assert.NilError(t, err)
		_, err = l.Call(t.Context()) // the decisions that the commands allow are made
		assert.NilError(t, err)
		_, err = l.Call(t.Context(), scheduler.AddNode{Node: "n1"}) // rejected: it is registered already
		assert.NilError(t, err)
		<-refused // so all effects before it were delivered, which happens asynchronously
	}
	explain := func(key string) (code int, state, message string) {
		t.Helper()
		r := httptest.NewRequest(http.MethodGet, "/ws/v1/partition/default/ask/"+key+"/explain", nil)
		w := httptest.NewRecorder()
		webservice.Handler(c, webservice.Options{Sources: webservice.Sources{History: h}}).ServeHTTP(w, r)
		var body struct {
			State, Message string
			Code           int `json:"status_code"`
		}
		assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &body))
		assert.Assert(t, body.Code == w.Code || w.Code == http.StatusOK)
		return w.Code, body.State, body.Message
	}

	code, state, _ := explain("pod")
	assert.Equal(t, code, http.StatusNotFound)
	assert.Equal(t, state, "unknown")

	call(scheduler.AddNode{Node: "n1", Total: vcore(4000), Schedulable: true},
		scheduler.AddApplication{App: "app", User: security.User{Name: "ann"}, Queue: "root.idle"}, ask("pod", 1000))
	code, state, _ = explain("pod")
	assert.Equal(t, code, http.StatusOK)
	assert.Equal(t, state, "allocated")

	call(scheduler.Release{App: "app", Key: "pod", Type: scheduler.StoppedByRM})
	code, state, message := explain("pod")
	assert.Equal(t, code, http.StatusNotFound)
	assert.Equal(t, state, "released")
	assert.Equal(t, message,
		`no ask or allocation has the key "pod": it was released at 2026-01-02T12:00:00Z: released as the RM asked`)

	call(ask("pod", -1))
	code, state, message = explain("pod")
	assert.Equal(t, code, http.StatusNotFound)
	assert.Equal(t, state, "rejected")
	assert.Equal(t, message,
		`no ask or allocation has the key "pod": it was rejected at 2026-01-02T12:00:00Z: contains negative resources`)

	call(ask("pod", 9000))
	code, state, message = explain("pod")
	assert.Equal(t, code, http.StatusOK)
	assert.Equal(t, state, "pending")
	assert.Equal(t, message,
		"it can never run as things are: no schedulable node has more than vcore 4, and it asks for vcore 9; nodes: 1 too "+
			"small")

	call(scheduler.Release{App: "app", Key: "pod", Type: scheduler.StoppedByRM})
	code, state, message = explain("pod")
	assert.Equal(t, code, http.StatusNotFound)
	assert.Equal(t, state, "cancelled")
	assert.Equal(t, message,
		`no ask or allocation has the key "pod": it was cancelled at 2026-01-02T12:00:00Z: cancelled as the RM asked`)

	call(ask("late", -2))
	w := httptest.NewRecorder()
	webservice.Handler(c, webservice.Options{Sources: webservice.Sources{History: h}}).ServeHTTP(w,
		httptest.NewRequest(http.MethodGet, "/ws/v1/partition/default/asks/rejected", nil))
	assert.Equal(t, strings.TrimSpace(w.Body.String()), "["+
		`{"allocationKey":"late","applicationID":"app","rejectedMessage":"contains negative `+
		`resources","time":1767355200000000000},`+
		`{"allocationKey":"pod","applicationID":"app","rejectedMessage":"contains negative `+
		`resources","time":1767355200000000000}]`)
}

// While no resource manager listens, an explanation says that nothing is placed, and whether the ask may preempt.
func TestExplain_BackOffIsAnAbsoluteTimeAndAReason(t *testing.T) {
	conf, problems := queuesyaml.Load([]byte(`partitions: [{name: default, queues: [{name: root, submitacl: '*', queues: [
  {name: a, properties: {preemption.priority: leaf}}]}]}]`))
	assert.Assert(t, conf != nil, "%v", problems)
	now := time.Date(2026, 1, 2, 11, 0, 0, 0, time.UTC)
	core := scheduler.New(conf.Partitions[0], nil)
	one := amounts(map[string]resources.Quantity{"vcore": 1000})
	core.Step(now, scheduler.AddNode{Node: "n1", Total: one, Schedulable: true})
	core.Step(now, scheduler.AddApplication{App: "app", Queue: "root.a"})
	for _, key := range []objects.AllocationKey{"runs", "waits"} {
		core.Step(now,
			scheduler.SubmitAsk{Ask: &objects.Ask{Key: key, App: "app", Amounts: one,
				Policy: objects.PolicySent | objects.PolicyAllowPreemptOther}})
	}
	core.Schedule(now, 10)
	text, err := json.Marshal(core.Explain("waits", now.Add(time.Second)).Verdict.BackOffs)
	assert.NilError(t, err)
	assert.Equal(t, string(text), `[{"reason":"preemptionDelay","until":1767351630000000000,"needChange":false,`+
		`"message":"preemption is evaluated again at 2026-01-02T11:00:30Z, when a preemption delay ends: the last `+
		`evaluation found no victims"}]`)
}

func TestExplain_NoListeningResourceManager(t *testing.T) {
	conf, problems := queuesyaml.Load([]byte(`partitions: [{name: default, queues: [{name: root, submitacl: '*', queues: [
  {name: a, properties: {preemption.priority: leaf}}]}]}]`))
	assert.Assert(t, conf != nil, "%v", problems)
	c := loop.NewCluster(loop.Options{}, func(string) loop.Sink { return discardSink{} }, nil)
	t.Cleanup(c.End)
	assert.NilError(t, c.Configure(t.Context(), conf))
	c.SetListening(false)
	l, _ := c.Partition("default")
	one := amounts(map[string]resources.Quantity{"vcore": 1000})
	_, err := l.Call(t.Context(),
		scheduler.AddNode{Node: "n1", Total: one, Schedulable: true},
		scheduler.AddApplication{App: "app", User: security.User{Name: "ann"}, Queue: "root.a"},
		scheduler.SubmitAsk{Ask: &objects.Ask{Key: "may", App: "app", Amounts: one,
			Policy: objects.PolicySent | objects.PolicyAllowPreemptOther}},
		scheduler.SubmitAsk{Ask: &objects.Ask{Key: "never", App: "app", Amounts: one, Policy: objects.PolicySent}},
	)
	assert.NilError(t, err)
	explain := func(key string) (message string, verdict map[string]any) {
		t.Helper()
		r := httptest.NewRequest(http.MethodGet, "/ws/v1/partition/default/ask/"+key+"/explain", nil)
		w := httptest.NewRecorder()
		webservice.Handler(c, webservice.Options{}).ServeHTTP(w, r)
		assert.Equal(t, w.Code, http.StatusOK, w.Body)
		var body struct {
			Message string
			Verdict map[string]any
		}
		assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &body))
		return body.Message, body.Verdict
	}
	message, verdict := explain("may")
	assert.Equal(t, message,
		"it waits for its turn; no resource manager listens, so nothing is placed and nothing is preempted")
	assert.Equal(t, verdict["listening"], false)
	assert.Equal(t, verdict["mayPreempt"], true)
	message, verdict = explain("never")
	assert.Equal(t, message, "it waits for its turn; no resource manager listens, so nothing is placed")
	assert.Equal(t, verdict["listening"], false)
	assert.Equal(t, verdict["mayPreempt"], false)

	c.SetListening(true)
	_, err = l.Call(t.Context())
	assert.NilError(t, err)
	message, verdict = explain("never") // the other ask was placed on the node
	assert.Equal(t, message, "the cluster has vcore 0 of 1 left, and it asks for vcore 1")
	assert.Equal(t, verdict["listening"], true)
}

// A search for victims keeps the partition from deciding, so an explanation has it where the request wants it (EXP-18).
func TestExplain_VictimsWhereTheRequestWantsThem(t *testing.T) {
	c := preemptionCluster(t)
	l, _ := c.Partition("default")
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	mustCall(t, l, scheduler.SubmitAsk{Ask: &objects.Ask{
		Key: "web-2", App: "web", Priority: 10, Created: objects.TimestampOf(noon),
		Amounts: amounts(map[string]resources.Quantity{"vcore": 1000}),
		Policy:  objects.PolicySent | objects.PolicyAllowPreemptOther,
	}})
	type search struct {
		PreemptionReason string
		NoPlanReasons    map[string]int
	}
	type explanation struct {
		Entitlements []any
		Searches     []search
		SearchedAt   int64
	}
	explain := func(query string) (e explanation) {
		w := fetch(c, "/ws/v1/partition/default/ask/web-2/explain"+query)
		assert.Equal(t, w.Code, http.StatusOK, w.Body)
		assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &e))
		return e
	}
	e := explain("")
	assert.Assert(t, len(e.Entitlements) > 0 && e.Searches == nil && e.SearchedAt == 0, "%+v", e)
	e = explain("?victims")
	assert.Equal(t, e.SearchedAt, noon.Add(time.Second).UnixNano(), "when the preemption delay has ended")
	assert.DeepEqual(t, e.Searches,
		[]search{{"guarantee", map[string]int{"queue guarantees protect the needed victims": 2}}})
}
