package webservice_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/history"
	"github.com/canopy-scheduler/canopy/pkg/webservice"
)

// dumpedFields are the fields of the state dump and the paths whose answers they have, with %s for the partition.
var dumpedFields = []string{
	"timestamp", "partitions", "applications", "appHistory", "nodes", "clusterInfo", "containerHistory", "queues",
	"rmDiagnostics", "logLevel",
	"config", "placementRules", "eventStreams",
}

func TestStateDump_HasWhatTheOtherPathsShow(t *testing.T) {
	o := newAdminFixture(t, oneLeafYAML)
	opt := webservice.Options{Sources: webservice.Sources{Reloads: o.reloads}}
	h := history.New(func() time.Time { return noon })
	stream, err := h.Follow("192.0.2.7", 0)
	assert.NilError(t, err)
	defer stream.Close()
	opt.History, opt.Totals, opt.LogLevel = h, new(webservice.TotalsHistory), func() string { return "info" }
	opt.ClusterID = func() string { return "rm" }
	c := o.cluster
	w := request(c, opt, http.MethodGet, "/debug/fullstatedump")
	assert.Equal(t, w.Code, http.StatusOK)
	text := w.Body.String()

	var compact, again bytes.Buffer
	assert.NilError(t, json.Compact(&compact, []byte(text)))
	assert.NilError(t, json.Indent(&again, compact.Bytes(), "", "  "))
	assert.Equal(t, again.String(), text, "it is indented")
	d := json.NewDecoder(&compact)
	var names []string
	_, err = d.Token()
	assert.NilError(t, err)
	for d.More() {
		name, err := d.Token()
		assert.NilError(t, err)
		names = append(names, name.(string))
		var value json.RawMessage
		assert.NilError(t, d.Decode(&value))
		shown := func(path string) string { return request(c, opt, http.MethodGet, "/ws/v1/"+path).Body.String() }
		want := map[string]string{
			"partitions": shown("partitions"), "clusterInfo": shown("clusters"), "appHistory": "[]", "containerHistory": "[]",
			"logLevel": `"info"`,
			"queues":   "[" + shown("partition/default/queues") + "]", "applications": "[]", "timestamp": "1767355200000000000",
			"nodes":          `[{"partitionName":"default","nodesInfo":` + shown("partition/default/nodes") + "}]",
			"placementRules": `[{"partition":"default","rules":` + shown("partition/default/placementrules") + "}]",
			"eventStreams":   `[{"Name":"192.0.2.7","CreatedAt":"2026-01-02T12:00:00Z"}]`,
			"rmDiagnostics":  `{"empty":"no resource manager in this process offers a state dump"}`,
			"config":         request(c, opt, http.MethodGet, "/ws/v1/config", "Accept", "application/json").Body.String(),
		}[name.(string)]
		assert.Equal(t, string(value), want, "%s", name)
	}
	assert.DeepEqual(t, names, dumpedFields)
}

func TestStateDump_HasApplicationsOfAllKinds(t *testing.T) {
	c := endedCluster(t)
	var got struct {
		Applications []json.RawMessage `json:"applications"`
		Nodes        []struct {
			PartitionName string            `json:"partitionName"`
			NodesInfo     []json.RawMessage `json:"nodesInfo"`
		} `json:"nodes"`
		Queues []json.RawMessage `json:"queues"`
	}
	assert.NilError(t, json.Unmarshal(fetch(c, "/debug/fullstatedump").Body.Bytes(), &got))
	var want []json.RawMessage
	for _, state := range []string{"active", "completed", "rejected"} {
		var some []json.RawMessage
		assert.NilError(t, json.Unmarshal(fetch(c, "/ws/v1/partition/default/applications/"+state).Body.Bytes(), &some))
		assert.Assert(t, len(some) > 0, state)
		want = append(want, some...)
	}
	assert.Equal(t, len(got.Applications), len(want))
	for i := range want {
		var compact bytes.Buffer
		assert.NilError(t, json.Compact(&compact, got.Applications[i]))
		assert.Equal(t, compact.String(), string(want[i]))
	}
	assert.Equal(t, len(got.Nodes[0].NodesInfo), 2)
	assert.Equal(t, len(got.Queues), 2)
}

func TestStateDump_ResourceManagerDescribesItself(t *testing.T) {
	c := startCluster(t, clusterYAML)
	for _, x := range []struct {
		text string
		err  error
		want string
	}{
		{`{"cache": {"nodes":[1]}}`, nil, `{"cache":{"nodes":[1]}}`},
		{"", nil, `{"empty":"no resource manager in this process offers a state dump"}`},
		{"{", nil, `{"Error":"the state dump of the resource manager is no JSON"}`},
		{"", errors.New("it is <busy>"), `{"Error":"it is \u003cbusy\u003e"}`},
	} {
		opt := webservice.Options{Sources: webservice.Sources{Diagnostics: func(context.Context) (string,
			error) {
			return x.text, x.err
		}}}
		var got struct {
			RM json.RawMessage `json:"rmDiagnostics"`
		}
		assert.NilError(t, json.Unmarshal(request(c, opt, http.MethodGet, "/debug/fullstatedump").Body.Bytes(), &got))
		var compact bytes.Buffer
		assert.NilError(t, json.Compact(&compact, got.RM))
		assert.Equal(t, compact.String(), x.want)
	}
}

// While one dump is being written another request waits for 5 s, and is refused then.
func TestStateDump_OneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startCluster(t, clusterYAML)
		writing, release := make(chan struct{}), make(chan struct{})
		opt := webservice.Options{Sources: webservice.Sources{Diagnostics: func(context.Context) (string, error) {
			writing <- struct{}{}
			<-release
			return "{}", nil
		}}}
		h := webservice.Handler(c, opt)
		dump := func(client string) *httptest.ResponseRecorder {
			r, w := httptest.NewRequest(http.MethodGet, "/debug/fullstatedump", nil), httptest.NewRecorder()
			r.RemoteAddr = client
			h.ServeHTTP(w, r)
			return w
		}
		first := make(chan *httptest.ResponseRecorder, 1)
		go func() { first <- dump("192.0.2.1:1") }()
		<-writing
		began := time.Now()
		w := dump("192.0.2.2:1")
		assert.Equal(t, w.Code, http.StatusServiceUnavailable)
		assert.Equal(t, w.Header().Get("Retry-After"), "1")
		assert.Equal(t, time.Since(began), 5*time.Second)
		close(release)
		assert.Equal(t, (<-first).Code, http.StatusOK)
		go func() { <-writing }()
		assert.Equal(t, dump("192.0.2.2:1").Code, http.StatusOK)
		c.End()
		synctest.Wait()
	})
}
