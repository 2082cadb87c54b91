package webservice_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/history"
	"github.com/canopy-scheduler/canopy/internal/server/operators"
	"github.com/canopy-scheduler/canopy/internal/server/usage"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
	"github.com/canopy-scheduler/canopy/pkg/webservice"
)

var rewrite = flag.Bool("rewrite", false, "write the recorded shapes and docs/REST.md anew; read the diff")

// contractYAML is clusterYAML with what more answers can show.
const contractYAML = clusterYAML + `
priorityclasses:
  - {name: low, value: -5}
disruptionbudgets:
  - {name: db, namespace: team-a, selector: {matchLabels: {app: db}}, minAvailable: 2}
`

// registered is a scheduler with a resource manager.
type registered struct{ unmanaged }

func (registered) List() []webservice.ResourceManager {
	from := noon.Add(time.Hour)
	return []webservice.ResourceManager{{
		ID: "rm", State: "Disconnected", Since: noon, Streams: []string{}, ReplaceableFrom: &from, Registered: noon,
		Version: "1.9", BuildInfo: map[string]string{"buildVersion": "1"},
	}}
}

// newContractFixture has a cluster in which every answer has something to show.
func newContractFixture(t testing.TB) *adminFixture {
	t.Helper()
	o := newAdminFixture(t, contractYAML)
	fill(t, o.cluster)
	l, _ := o.cluster.Partition("default")
	bob := security.User{Name: "bob", Groups: []string{"bob"}}
	mustCall(t, l,
		scheduler.AddApplication{App: "again", User: bob, Queue: "root.tenant.fair"},
		scheduler.SubmitAsk{Ask: &objects.Ask{Key: "again", App: "again",
			Amounts: amounts(map[string]resources.Quantity{"vcore": 1})}},
		scheduler.RemoveApplication{App: "again"},
	)
	_, err := l.Call(t.Context(), scheduler.AddApplication{App: "lost", User: bob, Queue: "root.gone"})
	assert.NilError(t, err)
	h := history.New(func() time.Time { return noon })
	h.OnEffects("default", []scheduler.Effect{scheduler.NodeAccepted{Node: "n1"}})
	stream, err := h.Follow("192.0.2.7", 0)
	assert.NilError(t, err)
	t.Cleanup(stream.Close)
	day := new(webservice.TotalsHistory)
	day.Add(webservice.TotalsSample{At: noon, Applications: 2, Allocations: 3})
	opt := fullOptions(o.reloads)
	opt.History, opt.Totals, opt.Managers, opt.Now = h, day, registered{}, func() time.Time { return noon }
	opt.Operators, opt.Usage = operators.New(o.cluster.Partition, nil), memoryUsage(t)
	opt.Started, opt.ClusterID, opt.LogLevel = noon.Add(-time.Hour), func() string { return "rm" },
		func() string { return "info" }
	opt.Metrics = http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request) {
		_, _ = w.Write([]byte("go_goroutines 7\n"))
	})
	o.handler, o.admin = webservice.Handler(o.cluster, opt), webservice.Admin(o.cluster, opt)
	return o
}

// memoryUsage is a store of usage that is empty.
func memoryUsage(t testing.TB) *usage.Store {
	t.Helper()
	s, err := usage.Open("", usage.Options{}, noon.Add(-time.Hour))
	assert.NilError(t, err)
	t.Cleanup(func() { assert.NilError(t, s.Close()) })
	return s
}

// newFuzzFixture is newContractFixture without profiles, which take seconds.
func newFuzzFixture(t testing.TB) *adminFixture {
	t.Helper()
	o := newContractFixture(t)
	opt := fullOptions(o.reloads)
	opt.Debug, opt.Managers, opt.Now = false, registered{}, func() time.Time { return noon }
	opt.Operators, opt.Usage = operators.New(o.cluster.Partition, nil), memoryUsage(t)
	o.handler, o.admin = webservice.Handler(o.cluster, opt), webservice.Admin(o.cluster, opt)
	return o
}

// contractTargets are requests to paths of YuniKorn, whose shapes are recorded, by the names of the records.
var contractTargets = []answer{
	{"clusters", "/ws/v1/clusters"}, {"history-apps", "/ws/v1/history/apps"},
	{"history-containers", "/ws/v1/history/containers"},
	{"partitions", "/ws/v1/partitions"}, {"placementrules", defaultPartition + "placementrules"},
	{"queues", defaultPartition + "queues"},
	{"queue", defaultPartition + "queue/root.tenant?subtree"}, {"nodes", defaultPartition + "nodes"},
	{"node", defaultPartition + "node/n1"},
	{"queue-applications", defaultPartition + "queue/root.tenant.fair/applications"},
	{"queue-application", defaultPartition + "queue/root.tenant.fair/application/app-1"},
	{"application", defaultPartition + "application/app-1"},
	{"applications-active", defaultPartition + "applications/active"},
	{"applications-rejected", defaultPartition + "applications/rejected"},
	{"applications-completed", defaultPartition + "applications/completed"},
	{"queue-applications-active", defaultPartition + "queue/root.tenant.fair/applications/active"},
	{"usage-users", defaultPartition + "usage/users"},
	{"usage-groups", defaultPartition + "usage/groups"}, {"usage-user", defaultPartition + "usage/user/ann"},
	{"usage-group", defaultPartition + "usage/group/ops"},
	{"events-batch", "/ws/v1/events/batch"}, {"healthcheck", "/ws/v1/scheduler/healthcheck"},
	{"node-utilizations", "/ws/v1/scheduler/node-utilizations"},
	{"fullstatedump", "/debug/fullstatedump"}, {"config", "/ws/v1/config"}, {"error", "/ws/v1/partition/none/nodes"},
}

// shapeOf are the names and JSON types of a value, a line each.
func shapeOf(text []byte) ([]string, error) {
	var value any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	lines := map[string]bool{}
	var visit func(at string, value any)
	visit = func(at string, value any) {
		switch x := value.(type) {
		case map[string]any:
			lines[at+" object"] = true
			for name, below := range x {
				if isFreeName(at, name) {
					name = "*"
				}
				visit(at+"."+name, below)
			}
		case []any:
			lines[at+" list"] = true
			for _, below := range x {
				visit(at+"[]", below)
			}
		case string:
			lines[at+" text"] = true
		case json.Number:
			lines[at+" number"] = true
		case bool:
			lines[at+" boolean"] = true
		case nil:
			lines[at+" null"] = true
		}
	}
	visit("", value)
	// of the health check, perhaps not over yet
	maps.DeleteFunc(lines, func(line string, _ bool) bool { return strings.HasPrefix(line, ".Audits") })
	return slices.Sorted(maps.Keys(lines)), nil
}

// isFreeName reports whether the names below a field are those of resources, users and so on.
func isFreeName(at, name string) bool {
	field := at[strings.LastIndexByte(at, '.')+1:]
	if field == "properties" || field == "parameters" || field == "attributes" || field == "allocationTags" ||
		field == "groups" || strings.HasPrefix(field, "rmBuildInformation") || field == "Properties" {
		return true
	}
	return slices.Contains([]string{"vcore", "memory", "pods", "nvidia.com/gpu"}, name) && field != "resource.resources"
}

// The shape of each answer of YuniKorn's paths, names and JSON types, is recorded: a change of one is a change for
// tools.
func TestContract_ShapesOfYuniKornsPaths(t *testing.T) {
	o := newContractFixture(t)
	for _, x := range contractTargets {
		t.Run(x.name, func(t *testing.T) {
			w := o.get(x.target, "Accept", "application/json")
			assert.Equal(t, w.Code == http.StatusOK, x.name != "error", w.Body.String())
			lines, err := shapeOf(w.Body.Bytes())
			assert.NilError(t, err)
			got := strings.Join(lines, "\n") + "\n"
			file := filepath.Join("testdata", "shapes", x.name+".txt")
			if *rewrite {
				assert.NilError(t, os.MkdirAll(filepath.Dir(file), 0o755))
				assert.NilError(t, os.WriteFile(file, []byte(got), 0o600))
			}
			want, err := os.ReadFile(file)
			assert.NilError(t, err)
			assert.Equal(t, got, string(want))
		})
	}
}

// Each route is asked once with success, and answers as the description says.
func TestContract_EveryRouteAnswersAsDescribed(t *testing.T) {
	o := newContractFixture(t)
	asked := map[string]bool{}
	ask := func(method, target, body string, headers ...string) *httptest.ResponseRecorder {
		w := o.send(o.admin, method, target, body, headers...)
		assert.Assert(t, w.Code < 400, "%s %s: %d %s", method, target, w.Code, w.Body)
		asked[method+" "+described().route(method, target).path] = true
		return w
	}
	for _, x := range contractTargets {
		if x.name != "error" {
			ask(http.MethodGet, x.target, "", "Accept", "application/json")
		}
	}
	for _, target := range []string{
		"/healthz", "/readyz", "/metrics", "/ws/v1/metrics", "/ws/v1/openapi.json", "/ws/v1/config", "/ws/v1/config/history",
		"/ws/v1/config/history/1", "/ws/v1/resourcemanagers",
		"/ws/v1/priorityclasses", "/ws/v1/priorityclass/low", "/ws/v1/disruptionbudgets",
		"/ws/v1/disruptionbudget/db?namespace=team-a", defaultPartition + "asks", defaultPartition + "asks/rejected",
		defaultPartition + "classquotas", defaultPartition + "node/n1/eviction-order", defaultPartition + "ask/waits/explain",
		defaultPartition + "preemptions",
		defaultPartition + "application/app-1/explain", defaultPartition + "operators", defaultPartition + "fairness",
		"/ws/v1/history/usage?by=queue",
		"/ws/v1/fullstatedump", "/ws/v1/stack", "/debug/stack", "/debug/pprof/", "/debug/pprof/heap",
	} {
		ask(http.MethodGet, target, "")
	}
	ask(http.MethodPost, "/ws/v1/validate-conf", contractYAML)
	ask(http.MethodPost, "/ws/v1/plan", contractYAML)
	ask(http.MethodPost, "/debug/pprof/symbol", "0x1")
	ask(http.MethodPost, defaultPartition+"preemptions/dry-run", "allocationKey: waits", "Content-Type", yamlBody)
	ask(http.MethodPost, "/ws/v1/priorityclasses", `{"name":"high","value":7}`, "Content-Type", jsonBody)
	ask(http.MethodPut, "/ws/v1/priorityclass/high", `{"name":"high","value":7,"description":"x"}`, "Content-Type",
		jsonBody)
	ask(http.MethodDelete, "/ws/v1/priorityclass/high", "")
	ask(http.MethodPost, "/ws/v1/disruptionbudgets", "{name: zk, selector: {}, maxUnavailable: 50%}", "Content-Type",
		yamlBody)
	ask(http.MethodPut, "/ws/v1/disruptionbudget/zk", "{name: zk, selector: {}, maxUnavailable: 3}", "Content-Type",
		yamlBody)
	ask(http.MethodDelete, "/ws/v1/disruptionbudget/zk", "")
	ask(http.MethodPost, "/ws/v1/config", contractYAML, "Content-Type", yamlBody)
	ask(http.MethodPost, "/ws/v1/config/rollback/1", "", "Content-Type", jsonBody)
	for _, action := range []string{"application/app-1/hold", "application/app-1/release",
		"application/app-1/move/root.idle", "application/app-1/cancel", "queue/root.tenant/stop", "queue/root.tenant/drain",
		"queue/root.tenant/start", "node/n1/cordon", "node/n1/drain", "node/n1/uncordon"} {
		ask(http.MethodPut, defaultPartition+action, "")
	}
	others := map[string]string{ // answers that other tests ask for, through the same check
		"GET /ws/v1/live": "TestLive_", "GET /ws/v1/events/stream": "TestEvents_StreamSendsPastAndNewRecords",
		"GET /ws/v1/partition/{partition}/preemptions/{number}": "TestPreemptions",
		"DELETE /ws/v1/resourcemanager/{rm}":                    "TestResourceManagers_OnlyAdminListenerReleasesThem",
	}
	for _, route := range described().routes {
		name := route.method + " " + route.path
		assert.Assert(t, asked[name] || others[name] != "", "nothing asks for %s", name)
	}
	assert.Assert(t, len(asked) > 50, "%d routes", len(asked))
}

// Both listeners describe what they serve: the public one without the changes.
func TestOpenAPI_DescribesWhatTheListenerServes(t *testing.T) {
	o := newContractFixture(t)
	operations := func(h http.Handler) (names []string) {
		var doc struct {
			OpenAPI string                                `json:"openapi"`
			Paths   map[string]map[string]json.RawMessage `json:"paths"`
		}
		w := o.send(h, http.MethodGet, "/ws/v1/openapi.json", "")
		assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &doc))
		assert.Equal(t, doc.OpenAPI, "3.1.0")
		for path, methods := range doc.Paths {
			for method := range methods {
				names = append(names, strings.ToUpper(method)+" "+path)
				// What is described is served: neither 404 in plain text nor 405.
				probe := httptest.NewRequest(strings.ToUpper(method),
					strings.NewReplacer("{profile}", "heap", "{", "", "}", "").Replace(path), nil)
				probe.Host = "localhost"
				if path != "/ws/v1/events/stream" && path != "/ws/v1/live" {
					w := httptest.NewRecorder()
					h.ServeHTTP(w, probe)
					assert.Assert(t, w.Code != http.StatusMethodNotAllowed && !strings.Contains(w.Body.String(), "404 page not found"),
						"%s %s: %s", method, path, w.Body)
				}
			}
		}
		slices.Sort(names)
		return names
	}
	public, admin := operations(o.handler), operations(o.admin)
	changes := slices.DeleteFunc(slices.Clone(admin), func(name string) bool { return slices.Contains(public, name) })
	assert.DeepEqual(t, changes, []string{
		"DELETE /ws/v1/disruptionbudget/{name}", "DELETE /ws/v1/priorityclass/{name}", "DELETE /ws/v1/resourcemanager/{rm}",
		"POST /ws/v1/config",
		"POST /ws/v1/config/rollback/{generation}", "POST /ws/v1/disruptionbudgets", "POST /ws/v1/priorityclasses",
		"PUT /ws/v1/disruptionbudget/{name}",
		"PUT /ws/v1/partition/{partition}/application/{application}/cancel",
		"PUT /ws/v1/partition/{partition}/application/{application}/hold",
		"PUT /ws/v1/partition/{partition}/application/{application}/move/{queue}",
		"PUT /ws/v1/partition/{partition}/application/{application}/release",
		"PUT /ws/v1/partition/{partition}/node/{node}/cordon", "PUT /ws/v1/partition/{partition}/node/{node}/drain",
		"PUT /ws/v1/partition/{partition}/node/{node}/uncordon",
		"PUT /ws/v1/partition/{partition}/queue/{queue}/drain", "PUT /ws/v1/partition/{partition}/queue/{queue}/start",
		"PUT /ws/v1/partition/{partition}/queue/{queue}/stop",
		"PUT /ws/v1/priorityclass/{name}",
	})
	assert.Equal(t, len(public)+len(changes), len(admin))
	// A scheduler without some parts does not describe them.
	w := fetch(o.cluster, "/ws/v1/openapi.json")
	assert.Assert(t, !strings.Contains(w.Body.String(), "/ws/v1/events/batch") &&
		strings.Contains(w.Body.String(), "/ws/v1/partitions"))
}

// Every schema of the description compiles, and operation IDs are unique.
func TestOpenAPI_IsValid(t *testing.T) {
	d := described()
	for name := range d.document["components"].(map[string]any)["schemas"].(map[string]any) {
		_, err := d.schema("openapi.json#/components/schemas/" + name)
		assert.NilError(t, err, name)
	}
	ids := map[string]string{}
	for path, operations := range d.document["paths"].(map[string]any) {
		for method, operation := range operations.(map[string]any) {
			o := operation.(map[string]any)
			id := fmt.Sprint(o["operationId"])
			assert.Equal(t, ids[id], "", "%s is %s %s, too", id, method, path)
			ids[id] = method + " " + path
			assert.Assert(t, o["summary"] != "" && o["responses"] != nil)
			var names []string
			list, _ := o["parameters"].([]any)
			for _, p := range list {
				p := p.(map[string]any)
				assert.Assert(t, p["description"] != "" && p["schema"] != nil, "%s %v", path, p)
				if p["in"] == "path" {
					names = append(names, fmt.Sprint("{", p["name"], "}"))
				}
			}
			for _, name := range names {
				assert.Assert(t, strings.Contains(path, name), "%s has no %s", path, name)
			}
			assert.Equal(t, len(names), strings.Count(path, "{"), path)
		}
	}
}
