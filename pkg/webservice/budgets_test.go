package webservice_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/configs/diff"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/registry"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// budgetsYAML is a configuration with budgets of all kinds, in two partitions.
const budgetsYAML = `
partitions:
  - name: default
    queues: [{name: root, submitacl: '*', queues: [{name: a, properties: {preemption.priority: leaf}}]}]
  - name: gpu
    queues: [{name: root, submitacl: '*', queues: [{name: a}]}]
disruptionbudgets:
  - {name: db, namespace: team-a, selector: {matchLabels: {app: db}}, minAvailable: 2}
  - {name: most, namespace: team-a,
     selector: {matchExpressions: [{key: app, operator: In, values: [web, db]}]}, maxUnavailable: 50%}
  - {name: known, selector: {matchLabels: {app: db}}, allowed: 0}
`

// budgetCluster has three databases, one of which was preempted by an ask of higher priority.
func budgetCluster(t *testing.T) *loop.Cluster {
	t.Helper()
	c := startCluster(t, budgetsYAML)
	l, _ := c.Partition("default")
	ask := func(key, app string, priority int32) scheduler.SubmitAsk {
		return scheduler.SubmitAsk{Ask: &objects.Ask{
			Key: objects.AllocationKey(key), App: "app-1", Priority: priority,
			Policy:  objects.PolicySent | objects.PolicyAllowPreemptSelf | objects.PolicyAllowPreemptOther,
			Amounts: amounts(map[string]resources.Quantity{"vcore": 1000}),
			Details: &objects.AskDetails{Tags: map[string]string{"kubernetes.io/meta/namespace": "team-a",
				"kubernetes.io/label/app": app}},
		}}
	}
	mustCall(t, l,
		scheduler.AddNode{Node: "n1", Total: amounts(map[string]resources.Quantity{"vcore": 3000}), Schedulable: true},
		scheduler.AddApplication{App: "app-1", User: security.User{Name: "ann"}, Queue: "root.a"},
		ask("db-1", "db", 0), ask("db-2", "db", 0), ask("db-3", "db", 0))
	mustCall(t, l)
	mustCall(t, l, ask("urgent", "urgent", 10))
	mustCall(t, l)
	return c
}

func TestGolden_DisruptionBudgets(t *testing.T) {
	c := budgetCluster(t)
	checkGolden(t, c, []answer{
		{"budgets", "/ws/v1/disruptionbudgets"},
		{"budgets-namespace", "/ws/v1/disruptionbudgets?namespace=default"},
		{"budgets-unknown-namespace", "/ws/v1/disruptionbudgets?namespace=team-b"},
		{"budget", "/ws/v1/disruptionbudget/db?namespace=team-a"},
		{"budget-default", "/ws/v1/disruptionbudget/known"},
	})
	for name, target := range map[string]string{"budgets": "disruptionbudgets",
		"budget": "disruptionbudget/db?namespace=team-a"} {
		w := fetch(c, "/ws/v1/"+target, "Accept", yamlBody)
		assert.Equal(t, w.Header().Get("Content-Type"), "application/x-yaml")
		golden.Assert(t, w.Body.String(), name+".yaml")
	}
	wantAnswer(t, fetch(c, "/ws/v1/disruptionbudget/db"), http.StatusNotFound,
		errorBody(404, `unknown-budget: disruption budget "default/db": there is no such budget`,
			`"reason":"unknown-budget"`))
}

func (o *adminFixture) budgets() string {
	o.t.Helper()
	var out []string
	for _, b := range o.cluster.Config().Budgets.All() {
		out = append(out, b.ID()+" "+b.Selector.String()+" "+b.Allowance.String())
	}
	return strings.Join(out, ", ")
}

func (o *adminFixture) budget(method, name, body string, headers ...string) *httptest.ResponseRecorder {
	o.t.Helper()
	path := "/ws/v1/disruptionbudget/" + name
	if method == http.MethodPost {
		path = "/ws/v1/disruptionbudgets" + name
	}
	if len(headers) == 0 && method != http.MethodDelete {
		headers = []string{"Content-Type", jsonBody}
	}
	return o.send(o.admin, method, path, body, headers...)
}

func TestDisruptionBudgets_CreateUpdateDelete(t *testing.T) {
	o := newAdminFixture(t, "# mine\n"+oneLeafYAML)
	w := o.budget(http.MethodPost, "",
		"apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: zk, namespace: team-a, labels: {a: b}}\n"+
			"spec: {minAvailable: 50%, selector: {matchLabels: {app: zk}}, unhealthyPodEvictionPolicy: AlwaysAllow}\nstatus: "+
			"{currentHealthy: 3}\n",
		"Content-Type", yamlBody)
	wantAnswer(t, w, http.StatusCreated,
		`{"name":"zk","namespace":"team-a","selector":{"matchLabels":{"app":"zk"}},"minAvailable":"50%",`+
			`"generation":2,"changed":true}`)
	w = o.budget(http.MethodPost, "",
		`{"name": "zk", "selector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}, "maxUnavailable": 0}`)
	assert.Equal(t, w.Code, http.StatusCreated, w.Body.String())
	w = o.budget(http.MethodPost, "?namespace=team-b", `{"name": "zk", "selector": {}, "allowed": 0}`)
	wantAnswer(t, w, http.StatusCreated,
		`{"name":"zk","namespace":"team-b","selector":{},"allowed":0,"generation":4,"changed":true,"warnings":[{"line":1,`+
			`"column":28,"path":"disruption budget team-b/zk","rule":"budget-empty-selector","severity":"warning",`+
			`"message":"without conditions the selector selects nothing, so the budget has no effect","hint":"name the labels `+
			`of the allocations under matchLabels"}]}`)
	assert.Equal(t, o.budgets(),
		"default/zk a maxUnavailable: 0, team-a/zk app=zk minAvailable: 50%, team-b/zk  allowed: 0")

	w = o.budget(http.MethodPut, "zk?namespace=team-a",
		`{"selector": {"matchLabels": {"app": "zk"}}, "maxUnavailable": 1}`)
	wantAnswer(t, w, http.StatusOK,
		`{"name":"zk","namespace":"team-a","selector":{"matchLabels":{"app":"zk"}},"maxUnavailable":1,"generation":5,`+
			`"changed":true}`)
	w = o.budget(http.MethodPut, "zk?namespace=team-a",
		`{"selector": {"matchLabels": {"app": "zk"}}, "maxUnavailable": 1}`)
	assert.Assert(t, strings.Contains(w.Body.String(), `"generation":5,"changed":false`), w.Body.String())

	w = o.budget(http.MethodDelete, "zk", "")
	wantAnswer(t, w, http.StatusOK,
		`{"name":"zk","namespace":"default","selector":{"matchExpressions":[{"key":"a","operator":"Exists"}]},`+
			`"maxUnavailable":0,"generation":6,"changed":true}`)
	assert.Equal(t, o.budgets(), "team-a/zk app=zk maxUnavailable: 1, team-b/zk  allowed: 0")

	// Each of these changes is a generation, and a rollback restores its budgets.
	assert.Assert(t, strings.HasPrefix(o.reloads.Current().Text, "# mine\n"+oneLeafYAML+"disruptionbudgets:\n"))
	assert.Equal(t, o.rollback(2).Code, http.StatusOK)
	assert.Equal(t, o.budgets(), "team-a/zk app=zk minAvailable: 50%")
	var history struct {
		Changes diff.Change `json:"changes"`
	}
	assert.NilError(t, json.Unmarshal(o.get("/ws/v1/config/history/3").Body.Bytes(), &history))
	assert.Equal(t, history.Changes.Summary(), "1 disruption budget created")

	// The YAML that is shown can be sent to another scheduler.
	other := newAdminFixture(t, oneLeafYAML)
	shown := o.get("/ws/v1/disruptionbudget/zk?namespace=team-a", "Accept", yamlBody).Body.String()
	w = other.budget(http.MethodPost, "", shown, "Content-Type", yamlBody)
	assert.Equal(t, w.Code, http.StatusCreated, w.Body.String())
	assert.Equal(t, other.budgets(), o.budgets())
}

func TestDisruptionBudgets_InvalidBodyIsRejectedWithReason(t *testing.T) {
	const start = oneLeafYAML + "disruptionbudgets: [{name: a, selector: {matchLabels: {app: db}}, minAvailable: 1}]\n"
	for _, c := range []struct {
		name, method, budget, body string
		status                     int
		reason                     string
	}{
		{"no allowance", "POST", "", `{"name": "x", "selector": {"matchLabels": {"a": "b"}}}`, 422, "one-allowance"},
		{"two allowances", "POST", "", `{"name": "x", "minAvailable": 1, "maxUnavailable": 1}`, 422, "one-allowance"},
		{"percentage above 100", "POST", "", `{"name": "x", "minAvailable": "101%"}`, 422, "invalid-allowance"},
		{"number in quotes", "POST", "", `{"name": "x", "minAvailable": "1"}`, 422, "invalid-allowance"},
		{"negative number", "POST", "", `{"name": "x", "allowed": -1}`, 422, "invalid-allowance"},
		{"invalid name", "POST", "", `{"name": "X", "allowed": 1}`, 422, "invalid-name"},
		{"no name", "POST", "", `{"allowed": 1}`, 422, "invalid-name"},
		{"invalid namespace", "POST", "", `{"name": "x", "namespace": "a.b", "allowed": 1}`, 422, "invalid-namespace"},
		{"invalid selector", "POST", "", `{"name": "x", "selector": {"matchLabels": {"a b": "c"}}, "allowed": 1}`, 422,
			"invalid-selector"},
		{"field at both levels", "POST", "", `{"name": "x", "minAvailable": 1, "spec": {"minAvailable": 1}}`, 422,
			"duplicate-field"},
		{"another kind", "POST", "", `{"kind": "Pod", "name": "x", "allowed": 1}`, 422, "invalid-kind"},
		{"existing name", "POST", "", `{"name": "a", "allowed": 1}`, 409, "already-exists"},
		{"PUT of an unknown budget", "PUT", "x", `{"allowed": 1}`, 404, "unknown-budget"},
		{"PUT in another namespace", "PUT", "a?namespace=x", `{"allowed": 1}`, 404, "unknown-budget"},
		{"body with another name", "PUT", "a", `{"name": "b", "allowed": 1}`, 400, ""},
		{"body with another namespace", "PUT", "a", `{"namespace": "x", "allowed": 1}`, 400, ""},
		{"DELETE of an unknown budget", "DELETE", "x", "", 404, "unknown-budget"},
		{"unknown field", "POST", "", `{"name": "x", "minavailable": 1, "allowed": 1}`, 400, ""},
		{"list", "POST", "", `[1]`, 400, ""},
		{"empty body", "POST", "", ``, 400, ""},
		{"neither JSON nor YAML", "POST", "", `{`, 400, ""},
		{"body too long", "POST", "", strings.Repeat("#", 1<<20+1), 413, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := newAdminFixture(t, start)
			w := o.budget(c.method, c.budget, c.body)
			assert.Equal(t, w.Code, c.status, w.Body.String())
			var got struct{ Reason, Message string }
			assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &got))
			assert.Equal(t, got.Reason, c.reason)
			assert.Assert(t, got.Message != "" && strings.HasPrefix(got.Message, c.reason), got.Message)
			assert.Equal(t, o.reloads.Current().Number, uint64(1), "a rejected budget became a generation")
		})
	}
}

func TestDisruptionBudgets_OnlyAdminListenerChangesThem(t *testing.T) {
	o := newAdminFixture(t, oneLeafYAML)
	body := `{"name": "x", "allowed": 1}`
	for _, c := range []struct{ method, path string }{
		{http.MethodPost, "/ws/v1/disruptionbudgets"}, {http.MethodPut, "/ws/v1/disruptionbudget/x"},
		{http.MethodDelete, "/ws/v1/disruptionbudget/x"},
	} {
		w := o.send(o.handler, c.method, c.path, body, "Content-Type", jsonBody)
		assert.Equal(t, w.Code, http.StatusMethodNotAllowed, c.method)
		w = o.send(o.admin, c.method, c.path, body, "Content-Type", jsonBody, "Sec-Fetch-Site", "cross-site")
		assert.Equal(t, w.Code, http.StatusForbidden, c.method)
		w = o.send(o.admin, c.method, c.path, body, "Content-Type", jsonBody, "If-Match", `"7"`)
		assert.Equal(t, w.Code, http.StatusPreconditionFailed, c.method)
	}
	assert.Equal(t, o.budget(http.MethodPost, "", body, "Content-Type", "text/plain").Code,
		http.StatusUnsupportedMediaType)
	assert.Equal(t, o.budgets(), "")
	assert.Equal(t, o.budget(http.MethodPost, "", body, "Content-Type", jsonBody, "If-Match", `"1"`).Code,
		http.StatusCreated)
}

// FuzzBudgetBody looks for a body that makes reading a budget panic, or for an invalid budget that is accepted.
func FuzzBudgetBody(f *testing.F) {
	f.Add("apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: zk}\nspec: {minAvailable: 50%, selector: "+
		"{matchLabels: {app: zk}}}", "", "zk")
	f.Add(`{"name": "x", "allowed": 1, "selector": {"matchExpressions": [{"key": "a", "operator": "In", "values": `+
		`["b"]}]}}`, "a", "")
	f.Add(`{"metadata": {"name": "x"}, "minAvailable": [1]}`, "y", "x")
	f.Fuzz(func(t *testing.T, body, namespace, name string) {
		doc, problems := queuesyaml.DisruptionBudgets.ReadOne([]byte(body), registry.Key{Namespace: namespace, Name: name},
			queuesyaml.Options{})
		if !problems.HasErrors() {
			assert.Equal(t, len(doc.Object.Check()), 0)
		}
	})
}
