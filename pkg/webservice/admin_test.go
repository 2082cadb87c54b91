package webservice_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice"
)

// oneLeafYAML is a configuration with one leaf queue, twoLeavesYAML one with two.
const (
	oneLeafYAML   = "partitions: [{queues: [{name: root, submitacl: '*', queues: [{name: a}]}]}]\n"
	twoLeavesYAML = "partitions: [{queues: [{name: root, submitacl: '*', queues: [{name: a}, {name: b}]}]}]\n"
)

// adminFixture is a cluster with its public and its admin handler.
type adminFixture struct {
	t              testing.TB
	cluster        *loop.Cluster
	reloads        *reload.Reloader
	handler, admin http.Handler
}

func newAdminFixture(t testing.TB, text string) *adminFixture {
	t.Helper()
	return newAdminFixtureWithStore(t, text, nil)
}

func newAdminFixtureWithStore(t testing.TB, text string, store reload.Store) *adminFixture {
	t.Helper()
	noon := func() time.Time { return time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC) }
	o := &adminFixture{t: t,
		cluster: loop.NewCluster(loop.Options{Now: noon}, func(string) loop.Sink { return discardSink{} }, nil)}
	t.Cleanup(o.cluster.End)
	bounds := queuesyaml.Options{MaxBytes: 10_000}
	first, err := reload.Read(reload.File, "first.yaml", []byte(text), bounds)
	assert.NilError(t, err)
	o.reloads = reload.New(o.cluster, first, reload.Options{Now: noon, Bounds: bounds, Store: store})
	opt := webservice.Options{Sources: webservice.Sources{Reloads: o.reloads},
		Access: webservice.Access{AdminEnabled: true}}
	o.handler, o.admin = webservice.Handler(o.cluster, opt), webservice.Admin(o.cluster, opt)
	return o
}

// send sends a request. Headers are in pairs; Host counts as one.
func (o *adminFixture) send(h http.Handler, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	o.t.Helper()
	r := httptest.NewRequestWithContext(o.t.Context(), method, target, strings.NewReader(body))
	r.Host = "localhost:9081"
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	mustFollowDescription(method, target, w)
	return w
}

func (o *adminFixture) post(text string, headers ...string) *httptest.ResponseRecorder {
	o.t.Helper()
	return o.send(o.admin, http.MethodPost, "/ws/v1/config", text,
		append([]string{"Content-Type", "application/yaml"}, headers...)...)
}

func (o *adminFixture) rollback(n any, headers ...string) *httptest.ResponseRecorder {
	o.t.Helper()
	return o.send(o.admin, http.MethodPost, fmt.Sprint("/ws/v1/config/rollback/", n), "",
		append([]string{"Content-Type", "application/json"}, headers...)...)
}

func (o *adminFixture) get(target string, headers ...string) *httptest.ResponseRecorder {
	o.t.Helper()
	return o.send(o.handler, http.MethodGet, target, "", headers...)
}

func wantAnswer(t *testing.T, w *httptest.ResponseRecorder, status int, body string) {
	t.Helper()
	assert.Equal(t, w.Code, status, w.Body.String())
	assert.Equal(t, w.Body.String(), body)
}

func checksumOf(text string) string {
	conf, _ := queuesyaml.Load([]byte(text))
	return conf.Checksum
}

func TestPostConfig_BecomesGenerationAndRollsBack(t *testing.T) {
	o := newAdminFixture(t, oneLeafYAML)
	w := o.post(twoLeavesYAML)
	want := `{"generation":2,"active":true,"checksum":"` + checksumOf(twoLeavesYAML) + `","time":"2026-01-02T12:00:00Z",` +
		`"source":"rest","from":"192.0.2.1","pauseMicroseconds":0,"summary":"1 queue created"`
	wantAnswer(t, w, http.StatusOK, want+`,"changed":true,"changes":{"partitions":[{"partition":"default",`+
		`"kind":"changed","queues":[{"queue":"root.b","kind":"created","values":[{"name":"type","after":"leaf"}]}]}]},`+
		`"warnings":[]}`)
	assert.Equal(t, w.Header().Get("Access-Control-Allow-Origin"), "", "the answer has CORS headers")
	l, _ := o.cluster.Partition("default")
	s, err := l.Snapshot(t.Context())
	assert.NilError(t, err)
	assert.Equal(t, s.Root.Children.Len(), 2)
	wantAnswer(t, o.post(twoLeavesYAML), http.StatusOK, want+`,"changed":false,"warnings":[]}`)

	first := `{"generation":1,"active":false,"checksum":"` + checksumOf(oneLeafYAML) + `","time":"2026-01-02T12:00:00Z",` +
		`"source":"file","from":"first.yaml","pauseMicroseconds":0`
	wantAnswer(t, o.get("/ws/v1/config/history"), http.StatusOK, "["+want+"},"+first+"}]")
	text, err := json.Marshal(oneLeafYAML)
	assert.NilError(t, err)
	wantAnswer(t, o.get("/ws/v1/config/history/1"), http.StatusOK, first+`,"text":`+
		strings.NewReplacer(`<`, `\u003c`, `>`, `\u003e`, `&`, `\u0026`).Replace(string(text))+"}")

	w = o.rollback(1)
	assert.Equal(t, w.Code, http.StatusOK, w.Body.String())
	assert.Assert(t, strings.Contains(w.Body.String(), `"generation":3`), w.Body.String())
	assert.Assert(t, strings.Contains(w.Body.String(), `"source":"rollback","from":"generation 1"`), w.Body.String())
	assert.Equal(t, o.reloads.Current().Text, oneLeafYAML)
}

func TestConfig_CurrentConfigurationIsShown(t *testing.T) {
	o := newAdminFixture(t, "partitions:\n- name: DEFAULT\n  limits: [{users: [x], maxapplications: 2}]\n"+
		"  queues: [{name: A, submitacl: '*', resources: {max: {memory: 10G, vcore: 1}}}, {name: b}]\n")
	w := o.get("/ws/v1/config")
	assert.Equal(t, w.Header().Get("Content-Type"), "application/x-yaml")
	assert.Equal(t, w.Header().Get("ETag"), `"1"`)
	checksum := o.reloads.Current().Checksum
	wantAnswer(t, w, http.StatusOK, `partitions:
    - name: default
      queues:
        - name: root
          parent: true
          queues:
            - name: A
              resources:
                max:
                    memory: 10G
                    vcore: "1"
              submitacl: '*'
            - name: b
          limits:
            - users:
                - x
              maxapplications: 2
      limits:
        - users:
            - x
          maxapplications: 2
checksum: `+checksum+`
deadlockdetectionenabled: false
deadlocktimeoutseconds: 0
generation: 1
`)
	w = o.get("/ws/v1/config", "Accept", "application/json")
	assert.Equal(t, w.Header().Get("Content-Type"), "application/json; charset=UTF-8")
	wantAnswer(t, w, http.StatusOK, `{"Partitions":[{"Limits":[{"MaxApplications":2,"Users":["x"]}],"Name":"default",`+
		`"Queues":[{"Limits":[{"MaxApplications":2,"Users":["x"]}],"Name":"root","Parent":true,`+
		`"Queues":[{"Name":"A","Resources":{"Max":{"memory":"10G","vcore":"1"}},"SubmitACL":"*"},{"Name":"b"}]}]}],`+
		`"Checksum":"`+checksum+`","DeadlockDetectionEnabled":false,"DeadlockTimeoutSeconds":0,"Generation":1}`)
}

func TestPostConfig_InvalidTextListsEveryProblem(t *testing.T) {
	o := newAdminFixture(t, oneLeafYAML)
	const bad = "partitions:\n- queues:\n  - name: root\n    submitACL: x\n    queues: [{name: a.b}]\n"
	w := o.post(bad)
	assert.Equal(t, w.Code, http.StatusBadRequest)
	var got struct {
		Status     int    `json:"status_code"`
		Message    string `json:"message"`
		Generation uint64 `json:"generation"`
		Problems   validation.Problems
	}
	assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &got))
	_, want := queuesyaml.Load([]byte(bad))
	assert.DeepEqual(t, got.Problems, want)
	assert.Equal(t, got.Status, http.StatusBadRequest)
	assert.Equal(t, got.Message, "the configuration is invalid: generation 1 stays in force")
	assert.Equal(t, got.Generation, uint64(1))
	assert.Equal(t, len(o.reloads.Generations()), 1)
}

func TestAdmin_RejectionsNameTheReason(t *testing.T) {
	o := newAdminFixture(t, oneLeafYAML)
	l, _ := o.cluster.Partition("default")
	mustCall(t, l, scheduler.AddApplication{App: "app-1", Queue: "root.a"})
	before := o.get("/ws/v1/partition/default/queues").Body.String()
	parent := strings.Replace(oneLeafYAML, "name: a", "name: a, parent: true", 1)
	yaml := []string{"Content-Type", "application/yaml"}
	for _, x := range []struct {
		name, method, target, body string
		headers                    []string
		status                     int
		want                       string
	}{
		{name: "leaf queue with applications", target: "/ws/v1/config", body: parent, headers: yaml,
			status: http.StatusConflict, want: "leaf root.a cannot become a parent: it holds application app-1"},
		{name: "empty body", target: "/ws/v1/config", body: " \n", headers: yaml,
			status: http.StatusBadRequest, want: "the body is empty"},
		{name: "no partitions", target: "/ws/v1/config", body: "partitions: []", headers: yaml,
			status: http.StatusBadRequest, want: "the document has no partition"},
		{name: "body too long", target: "/ws/v1/config", body: strings.Repeat("#", 10_001), headers: yaml,
			status: http.StatusRequestEntityTooLarge, want: "longer than max-config-bytes (10000)"},
		{name: "content type of a form", target: "/ws/v1/config", body: twoLeavesYAML,
			headers: []string{"Content-Type", "text/plain"},
			status:  http.StatusUnsupportedMediaType, want: "send application/yaml or"},
		{name: "no content type", target: "/ws/v1/config", body: twoLeavesYAML, status: http.StatusUnsupportedMediaType,
			want: `Content-Type is \"\"`},
		{name: "another host", target: "/ws/v1/config", body: twoLeavesYAML,
			headers: append(yaml, "Host", "rebound.example:9081"),
			status:  http.StatusForbidden, want: `Host is \"rebound.example:9081\"`},
		{name: "no host", target: "/ws/v1/config", body: twoLeavesYAML, headers: append(yaml, "Host", ""),
			status: http.StatusForbidden, want: `Host is \"\"`},
		{name: "cross-origin page", target: "/ws/v1/config", body: twoLeavesYAML,
			headers: append(yaml, "Sec-Fetch-Site", "cross-site"), status: http.StatusForbidden, want: "cross-origin"},
		{name: "browser without Sec-Fetch-Site", target: "/ws/v1/config/rollback/1",
			headers: []string{"Content-Type", "application/json", "Origin", "https://evil.example"},
			status:  http.StatusForbidden, want: "cross-origin"},
		{name: "GET for another host", method: http.MethodGet, target: "/ws/v1/config",
			headers: []string{"Host", "rebound.example"}, status: http.StatusForbidden, want: "Host is"},
		{name: "If-Match is another generation", target: "/ws/v1/config", body: twoLeavesYAML,
			headers: append(yaml, "If-Match", `"7"`),
			status:  http.StatusPreconditionFailed, want: "another generation is in force: 1, not 7"},
		{name: "If-Match is not a number", target: "/ws/v1/config", body: twoLeavesYAML,
			headers: append(yaml, "If-Match", `"x"`),
			status:  http.StatusBadRequest, want: "takes the number of a generation"},
		{name: "rollback to an unknown generation", target: "/ws/v1/config/rollback/9",
			headers: []string{"Content-Type", "application/json"},
			status:  http.StatusNotFound, want: "generation 9 is not remembered"},
		{name: "rollback to a negative generation", target: "/ws/v1/config/rollback/-1",
			headers: []string{"Content-Type", "application/json"},
			status:  http.StatusBadRequest, want: `\"-1\" is not the number of a generation`},
		{name: "rollback with a body", target: "/ws/v1/config/rollback/1", body: "{nonsense",
			headers: []string{"Content-Type", "application/json"},
			status:  http.StatusBadRequest,
			want:    "the body is not empty: a rollback takes the number of the generation in the path"},
		{name: "rollback without a content type", target: "/ws/v1/config/rollback/1", status: http.StatusUnsupportedMediaType,
			want: "send application/json"},
	} {
		t.Run(x.name, func(t *testing.T) {
			method := http.MethodPost
			if x.method != "" {
				method = x.method
			}
			w := o.send(o.admin, method, x.target, x.body, x.headers...)
			assert.Equal(t, w.Code, x.status, w.Body.String())
			assert.Assert(t, strings.Contains(w.Body.String(), x.want), w.Body.String())
			assert.Equal(t, o.reloads.Current().Number, uint64(1))
		})
	}
	assert.Equal(t, o.get("/ws/v1/partition/default/queues").Body.String(), before, "a rejected request changed something")
}

func TestAdmin_AcceptsLocalHosts(t *testing.T) {
	o := newAdminFixture(t, oneLeafYAML)
	for i, host := range []string{"localhost", "LocalHost:1", "127.0.0.1:9081", "127.8.8.8", "[::1]:9081", "::1"} {
		w := o.post(fmt.Sprintf("%s# %d\n", oneLeafYAML, i), "Host", host, "If-Match", fmt.Sprint(i+1))
		assert.Equal(t, w.Code, http.StatusOK, "%s: %s", host, w.Body.String())
	}
}

func TestConfig_PublicListenerRejectsChanges(t *testing.T) {
	o := newAdminFixture(t, oneLeafYAML)
	bare := webservice.Handler(o.cluster, webservice.Options{Sources: webservice.Sources{Reloads: o.reloads}})
	for _, target := range []string{"/ws/v1/config", "/ws/v1/config/rollback/1"} {
		for want, h := range map[string]http.Handler{"on the admin listener only": o.handler, "runs without --admin": bare} {
			w := o.send(h, http.MethodPost, target, twoLeavesYAML, "Content-Type", "application/yaml")
			assert.Equal(t, w.Code, http.StatusMethodNotAllowed)
			assert.Assert(t, strings.Contains(w.Body.String(), want), w.Body.String())
			assert.Equal(t, w.Header().Get("Allow"), "GET, OPTIONS")
		}
	}
	for want, h := range map[string]http.Handler{
		"a resource manager can be released on the admin listener only": o.handler,
		"a resource manager cannot be released over REST":               bare,
	} {
		w := o.send(h, http.MethodDelete, "/ws/v1/resourcemanager/rm", "")
		assert.Equal(t, w.Code, http.StatusMethodNotAllowed)
		assert.Assert(t, strings.Contains(w.Body.String(), want), w.Body.String())
	}
	assert.Equal(t, o.reloads.Current().Number, uint64(1))
	assert.Equal(t, o.get("/ws/v1/config/history/2").Code, http.StatusNotFound)
	assert.Equal(t, o.get("/ws/v1/config/history/x").Code, http.StatusBadRequest)
}

// fullDisk is a reload.Store whose disk is full.
type fullDisk struct{}

func (fullDisk) Add(*reload.Generation, uint64) error { return errors.New("no space left on device") }
func (fullDisk) SaveChecksum(string, string) error    { return nil }

func TestAdmin_ChangeThatIsNotStoredIsReported(t *testing.T) {
	const want = `"notStored":"no space left on device"`
	o := newAdminFixtureWithStore(t, oneLeafYAML, fullDisk{})
	w := o.post(twoLeavesYAML)
	assert.Equal(t, w.Code, http.StatusOK)
	assert.Assert(t, strings.Contains(w.Body.String(), want), w.Body.String())
	for path, body := range map[string]string{
		"/ws/v1/priorityclasses":   `{"name": "high", "value": 5}`,
		"/ws/v1/disruptionbudgets": `{"name": "x", "minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}`,
	} {
		w = o.send(o.admin, http.MethodPost, path, body, "Content-Type", "application/json")
		assert.Equal(t, w.Code, http.StatusCreated)
		assert.Assert(t, strings.Contains(w.Body.String(), want), w.Body.String())
	}

	stored := newAdminFixture(t, oneLeafYAML).post(twoLeavesYAML)
	assert.Assert(t, !strings.Contains(stored.Body.String(), "notStored"), stored.Body.String())
}
