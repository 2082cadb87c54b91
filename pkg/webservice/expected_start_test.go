package webservice_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/durations"
	"github.com/canopy-scheduler/canopy/internal/server/forecast"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
	"github.com/canopy-scheduler/canopy/pkg/webservice"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// learningSink passes effects to a Forecaster, and then signals each rejected node.
type learningSink struct {
	f         *forecast.Forecaster
	partition string
	refused   chan struct{}
}

func (s learningSink) Deliver(effects []scheduler.Effect) {
	s.f.OnEffects(s.partition, effects)
	for _, e := range effects {
		if _, is := e.(scheduler.NodeRejected); is {
			s.refused <- struct{}{}
		}
	}
}

// The expected start of an ask is in its explanation, and in that of its application, if the request wants it (EXP-14).
func TestExplain_ExpectedStart(t *testing.T) {
	var at atomic.Int64
	now := func() time.Time { return noon.Add(time.Duration(at.Load())) }
	f, refused := forecast.NewForecaster("team", now), make(chan struct{}, 10)
	conf, _ := queuesyaml.Load([]byte(clusterYAML))
	c := loop.NewCluster(loop.Options{Now: now},
		func(partition string) loop.Sink { return learningSink{f, partition, refused} }, nil)
	t.Cleanup(c.End)
	assert.NilError(t, c.Configure(t.Context(), conf))
	l, _ := c.Partition("default")
	vcore := amounts(map[string]resources.Quantity{"vcore": 1000})
	ask := func(key string) scheduler.SubmitAsk {
		return scheduler.SubmitAsk{Ask: &objects.Ask{Key: objects.AllocationKey(key), App: "app", Amounts: vcore}}
	}
	call := func(cmds ...scheduler.Command) {
		t.Helper()
		mustCall(t, l, cmds...)
		mustCall(t, l)                                               // the decisions that the commands allow are made
		_, err := l.Call(t.Context(), scheduler.AddNode{Node: "n1"}) // rejected: it is registered already
		assert.NilError(t, err)
		<-refused // so all effects before it were delivered, which happens asynchronously
	}
	handler := webservice.Handler(c, webservice.Options{Sources: webservice.Sources{Forecasts: f,
		Lifetimes: lifecycle.DefaultLifetimes()}})
	explain := func(path string, body any) {
		t.Helper()
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/ws/v1/partition/default/"+path, nil))
		assert.Equal(t, w.Code, http.StatusOK, w.Body)
		assert.NilError(t, json.Unmarshal(w.Body.Bytes(), body))
	}
	type explained struct{ ExpectedStart *dao.ExpectedStart }
	start := func(path string) *dao.ExpectedStart {
		t.Helper()
		var e explained
		explain(path, &e)
		return e.ExpectedStart
	}
	mustCall(t, l, scheduler.AddNode{Node: "n1", Total: vcore, Schedulable: true},
		scheduler.AddApplication{App: "app", User: security.User{Name: "ann"}, Queue: "root.idle",
			Tags: map[string]string{"team": "red"}})
	call(ask("first"), ask("waits"), ask("waits-too"))
	assert.Equal(t, start("ask/waits/explain?expectedStart").Code, "notEnoughHistory")
	call(scheduler.Release{App: "app", Key: "waits"}, scheduler.Release{App: "app", Key: "waits-too"},
		scheduler.Release{App: "app", Key: "first", Type: scheduler.StoppedByRM})
	for i := range durations.Kept {
		key := fmt.Sprint(i)
		call(ask(key))
		at.Add(int64(time.Minute))
		call(scheduler.Release{App: "app", Key: objects.AllocationKey(key), Type: scheduler.StoppedByRM})
	}
	call(ask("first"), ask("waits"))
	at.Add(int64(30 * time.Second))

	assert.Assert(t, start("ask/waits/explain") == nil)
	assert.Assert(t, start("ask/first/explain?expectedStart") == nil, "it runs")
	s := start("ask/waits/explain?expectedStart")
	assert.Equal(t, s.Message, "expected to start in 30 s")
	assert.Equal(t, *s.P10, 30.0)
	assert.Equal(t, *s.P50, 30.0)
	assert.Equal(t, *s.P90, 30.0)
	assert.Equal(t, s.Time, now().UnixNano())
	assert.DeepEqual(t, s.BasedOn,
		[]dao.DurationGroup{{QueueName: "root.idle", Tag: "team", Value: "red", Durations: durations.Kept,
			MedianSeconds: 60}})
	assert.DeepEqual(t, s.Calibration, dao.StartCalibration{Open: 1})
	assert.Equal(t, len(s.Assumptions), 4)
	var a struct{ Groups []struct{ First explained } }
	explain("application/app/explain?expectedStart", &a)
	assert.DeepEqual(t, a.Groups[0].First.ExpectedStart, s)

	at.Add(int64(30 * time.Second))
	call(scheduler.Release{App: "app", Key: "first", Type: scheduler.StoppedByRM}, ask("next"))
	assert.DeepEqual(t, start("ask/next/explain?expectedStart").Calibration,
		dao.StartCalibration{Open: 1, Started: 1, WithinP10: 1, WithinP50: 1, WithinP90: 1})
}
