package webservice_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/history"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice"
)

// historyWithPreemption is a history at noon in which one allocation was preempted.
func historyWithPreemption() *history.History {
	h := history.New(func() time.Time { return time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC) })
	ask := &objects.Ask{Key: "low", App: "app-1",
		Amounts: resources.FromMap(map[string]resources.Quantity{"vcore": 1, "memory": 5})}
	low := scheduler.AllocationRef{Key: "low", App: "app-1", Queue: "root.a"}
	high := scheduler.AllocationRef{Key: "high", App: "app-2", Queue: "root.b"}
	h.OnEffects("default", []scheduler.Effect{
		scheduler.Allocated{Binding: &scheduler.Binding{Ask: ask, Node: "n1"}},
		scheduler.Event{Kind: scheduler.EventPreempted, Subject: low, Amounts: ask.Amounts, Node: "n1", Preemptor: high,
			Reason: victim.ReasonPriority, Grace: 5 * time.Second},
	})
	return h
}

const eventsPrefix = `"InstanceUUID":"%s","LowestID":0,"HighestID":2,`

func TestEvents_BatchAnswers(t *testing.T) {
	h := historyWithPreemption()
	c := startCluster(t, clusterYAML)
	get := func(query string) *httptest.ResponseRecorder {
		return request(c, webservice.Options{Sources: webservice.Sources{History: h}}, http.MethodGet,
			"/ws/v1/events/batch"+query)
	}
	const (
		placed = `{"type":2,"objectID":"app-1","timestampNano":1767355200000000000,"eventChangeType":2,` +
			`"eventChangeDetail":200,` +
			`"referenceID":"low","resource":{"resources":{"memory":{"value":5},"vcore":{"value":1}}},"partition":"default",` +
			`"typeName":"APP","eventChangeTypeName":"ADD","eventChangeDetailName":"APP_ALLOC"}`
		onNode = `{"type":3,"objectID":"n1","timestampNano":1767355200000000000,"eventChangeType":2,` +
			`"eventChangeDetail":303,` +
			`"referenceID":"low","resource":{"resources":{"memory":{"value":5},"vcore":{"value":1}}},"partition":"default",` +
			`"typeName":"NODE","eventChangeTypeName":"ADD","eventChangeDetailName":"NODE_ALLOC"}`
		preempted = `{"type":1,"objectID":"low","message":"Preempted by high of application app-2 in queue root.b on node ` +
			`n1, reason priority; grace period 5s",` +
			`"timestampNano":1767355200000000000,"referenceID":"app-1",` +
			`"resource":{"resources":{"memory":{"value":5},"vcore":{"value":1}}},"partition":"default",` +
			`"typeName":"REQUEST","eventChangeTypeName":"NONE","eventChangeDetailName":"DETAILS_NONE"}`
	)
	for query, want := range map[string]string{
		"":                  "[" + placed + "," + onNode + "," + preempted + "]",
		"?start=0&count=1":  "[" + placed + "]",
		"?start=2":          "[" + preempted + "]",
		"?start=1&count=99": "[" + onNode + "," + preempted + "]",
		"?start=3":          "null",
	} {
		w := get(query)
		assert.Equal(t, w.Code, http.StatusOK)
		assert.Equal(t, w.Body.String(), "{"+fmt.Sprintf(eventsPrefix, h.ID())+`"EventRecords":`+want+"}", query)
	}
	for query, want := range map[string]string{
		"?start=-1": `start \"-1\": it is a whole number, 0 or more`, "?start=x": `start \"x\"`,
		"?count=0": `count \"0\": it is a whole number, 1 or more`, "?count=1.5": `count \"1.5\"`,
	} {
		w := get(query)
		assert.Equal(t, w.Code, http.StatusBadRequest)
		assert.Assert(t, strings.Contains(w.Body.String(), want), w.Body)
	}
	h.Configure(history.ParseSettings(map[string]string{"event.trackingEnabled": "false"}))
	assert.Equal(t, get("").Code, http.StatusInternalServerError)
	assert.Assert(t, strings.Contains(get("").Body.String(), "event tracking is disabled"))
	assert.Equal(t, request(c, webservice.Options{}, http.MethodGet, "/ws/v1/events/batch").Code, http.StatusNotFound)
}

func TestEvents_StreamSendsPastAndNewRecords(t *testing.T) {
	h := historyWithPreemption()
	server := httptest.NewServer(webservice.Handler(startCluster(t, clusterYAML),
		webservice.Options{Sources: webservice.Sources{History: h}}))
	defer server.Close()
	open := func(query string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/ws/v1/events/stream"+query, nil)
		assert.NilError(t, err)
		response, err := server.Client().Do(r)
		assert.NilError(t, err)
		return response
	}
	response := open("?count=1")
	defer response.Body.Close()
	assert.Equal(t, response.StatusCode, http.StatusOK)
	lines := bufio.NewScanner(response.Body)
	next := func() (m map[string]any) {
		assert.Assert(t, lines.Scan(), "%v", lines.Err())
		assert.NilError(t, json.Unmarshal(lines.Bytes(), &m))
		return m
	}
	assert.Equal(t, next()["InstanceUUID"], h.ID())
	assert.Equal(t, next()["objectID"], "low", "the stream begins with the last record")
	h.OnEffects("default", []scheduler.Effect{scheduler.NodeAccepted{Node: "n2"}})
	assert.Equal(t, next()["objectID"], "n2", "a new record is sent")

	bad := open("?count=x")
	assert.NilError(t, bad.Body.Close())
	assert.Equal(t, bad.StatusCode, http.StatusBadRequest)
	h.Configure(history.ParseSettings(map[string]string{"event.maxStreamsPerHost": "1"}))
	many := open("")
	assert.NilError(t, many.Body.Close())
	assert.Equal(t, many.StatusCode, http.StatusServiceUnavailable)
	h.Close()
	assert.Assert(t, !lines.Scan(), "the stream has not ended with the process")
	h.Configure(history.ParseSettings(map[string]string{"event.trackingEnabled": "false"}))
	late := open("")
	assert.NilError(t, late.Body.Close())
	assert.Equal(t, late.StatusCode, http.StatusServiceUnavailable)
}

// historyWithHourlyNodes is a history with the registration of one node an hour from noon on, and its clock.
func historyWithHourlyNodes(nodes int) (*history.History, *time.Time) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	h := history.New(func() time.Time { return now })
	for i := range nodes {
		if i > 0 {
			now = now.Add(time.Hour)
		}
		h.OnEffects("default", []scheduler.Effect{scheduler.NodeAccepted{Node: objects.NodeID(fmt.Sprintf("n%d", i))}})
	}
	return h, &now
}

func TestEvents_SinceAndUntilAreApplied(t *testing.T) {
	h, _ := historyWithHourlyNodes(6)
	c := startCluster(t, clusterYAML)
	for query, want := range map[string]string{
		"?since=150m":                         "n3 n4 n5",
		"?since=2026-01-02T15:00:00Z":         "n3 n4 n5",
		"?since=2026-01-02T16:00:00%2B01:00":  "n3 n4 n5",
		"?until=3h":                           "n0 n1",
		"?since=4h&until=90m":                 "n1 n2 n3",
		"?since=4h&count=2":                   "n1 n2",
		"?since=4h&start=3":                   "n3 n4 n5",
		"?since=0s":                           "n5",
		"?since=2026-01-02T18:00:00Z":         "",
		"?start=2&until=2026-01-02T15:00:00Z": "n2",
		"?since=1000h":                        "n0 n1 n2 n3 n4 n5",
		"?since=4h&count=2&start=3":           "n3 n4",
	} {
		w := request(c, webservice.Options{Sources: webservice.Sources{History: h}}, http.MethodGet,
			"/ws/v1/events/batch"+query)
		assert.Equal(t, w.Code, http.StatusOK, w.Body.String())
		var body struct {
			EventRecords []struct{ ObjectID string }
			NextID       uint64
		}
		assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &body))
		var got []string
		for _, r := range body.EventRecords {
			got = append(got, r.ObjectID)
		}
		assert.Equal(t, strings.Join(got, " "), want, query)
		assert.Assert(t, strings.Contains(w.Body.String(), `"EventRecords":[`), "EventRecords is no list: %s", w.Body)
		assert.Equal(t, w.Header().Get("Warning"), "")
		if len(got) == 2 && strings.Contains(query, "count") {
			assert.Equal(t, fmt.Sprint("n", body.NextID-1), got[1], "the start of the next page")
		}
	}
	for query, want := range map[string]string{
		"?since=yesterday": `since \"yesterday\": it is a time such as 2026-01-02T15:04:05Z, or a duration before now ` +
			`such as 5m`,
		"?since=-5m":         `since \"-5m\"`,
		"?until=5":           `until \"5\"`,
		"?since=1h&until=2h": `since \"1h\" is not before until \"2h\"`,
	} {
		w := request(c, webservice.Options{Sources: webservice.Sources{History: h}}, http.MethodGet,
			"/ws/v1/events/batch"+query)
		assert.Equal(t, w.Code, http.StatusBadRequest, query)
		assert.Assert(t, strings.Contains(w.Body.String(), want), w.Body)
	}
}

func TestEvents_StreamBeginsAtSince(t *testing.T) {
	h, _ := historyWithHourlyNodes(4)
	server := httptest.NewServer(webservice.Handler(startCluster(t, clusterYAML),
		webservice.Options{Sources: webservice.Sources{History: h}}))
	defer server.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/ws/v1/events/stream?since=90m", nil)
	assert.NilError(t, err)
	response, err := server.Client().Do(r)
	assert.NilError(t, err)
	defer response.Body.Close()
	h.Close()
	text, err := io.ReadAll(response.Body)
	assert.NilError(t, err)
	assert.Equal(t, strings.Count(string(text), "\n"), 3, "%s", text)
	assert.Assert(t, strings.Contains(string(text), `"objectID":"n2"`) &&
		strings.Contains(string(text), `"objectID":"n3"`), "%s", text)
}
