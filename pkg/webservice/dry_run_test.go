package webservice_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice"
)

const dryRunPath = "/ws/v1/partition/default/preemptions/dry-run"

func post(c *loop.Cluster, target, kind, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, target, strings.NewReader(body))
	r.Header.Set("Content-Type", kind)
	w := httptest.NewRecorder()
	webservice.Handler(c, webservice.Options{}).ServeHTTP(w, r)
	return w
}

// To renew the golden files: go test ./pkg/webservice -update, and read the diff.
func TestGolden_DryRuns(t *testing.T) {
	c := preemptionCluster(t)
	l, _ := c.Partition("default")
	before, err := l.Snapshot(t.Context())
	assert.NilError(t, err)
	for _, x := range []struct{ name, kind, body string }{
		{"dry-run-guarantee", "application/yaml",
			"applicationID: web\npriority: 20\nresource: {vcore: 1}\nassumeDelayPassed: true\n"},
		{"dry-run-delay-not-elapsed", "application/json",
			`{"user": "eve", "groups": ["ops"], "queueName": "root.Prod", "resource": {"vcore": "500m"}}`},
		{"dry-run-priority", "application/yaml",
			"user: eve\nqueueName: root.batch\npriority: 30\nresource: {vcore: 2}\nexplainNode: n1\n"},
		{"dry-run-no-victims", "application/yaml",
			"user: eve\nqueueName: root.batch\npriority: 30\nresource: {vcore: 64, gpu: 1}\n"},
		{"dry-run-quota", "application/yaml", "user: zoe\nqueueName: root.batch\npriority: 30\nresource: {vcore: 2}\n"},
		{"dry-run-cross-node", "application/yaml", "applicationID: db\npriority: 30\nresource: {vcore: 2}\n"},
		{"dry-run-policy-never", "application/json",
			`{"applicationID": "ml", "priority": 30, "resource": {"vcore": 2}, "preempts": false}`},
		{"dry-run-waits", "application/json", `{"allocationKey": "ml-2"}`},
		{"dry-run-one-node", "application/x-yaml",
			"applicationID: ml\npriority: 30\nresource: {vcore: 1}\nrequiredNodeId: n2\n"},
		{"dry-run-node-affinity", "application/yaml",
			`{applicationID: ml, priority: 30, resource: {vcore: 1}, tags: {canopy.scheduler/nodeAffinity:
			'{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[` +
				`{"matchFields":[{"key":"metadata.name","operator":"In","values":["n2"]}]}]}}'}}`},
		{"dry-run-no-such-node", "application/yaml",
			`{applicationID: ml, priority: 30, resource: {vcore: 1}, tags: {canopy.scheduler/nodeSelector: '{"zone":"none"}'}}`},
	} {
		t.Run(x.name, func(t *testing.T) {
			w := post(c, dryRunPath, x.kind, x.body)
			assert.Equal(t, w.Code, http.StatusOK, w.Body.String())
			var pretty bytes.Buffer
			assert.NilError(t, json.Indent(&pretty, w.Body.Bytes(), "", "  "))
			golden.Assert(t, pretty.String()+"\n", x.name+".json")
			assert.Equal(t, post(c, dryRunPath, x.kind, x.body).Body.String(), w.Body.String(),
				"the answer differs the second time")
		})
	}
	after, err := l.Snapshot(t.Context())
	assert.NilError(t, err)
	assert.Equal(t, before, after, "a dry run changed the state")
}

func TestDryRun_InvalidAsksAreRejected(t *testing.T) {
	c := preemptionCluster(t)
	const yaml = "application/yaml"
	for _, x := range []struct {
		name, target, kind, body string
		code                     int
		want                     string
	}{
		{"unknown partition", "/ws/v1/partition/none/preemptions/dry-run", yaml, "{}", 404, "Partition not found"},
		{"content type of a form", dryRunPath, "text/plain", "{}", 415,
			`Content-Type is "text/plain": send application/json or application/yaml or application/x-yaml or text/yaml`},
		{"empty body", dryRunPath, yaml, "", 400, "the body is empty: send an ask"},
		{"comment only", dryRunPath, yaml, "# none", 400, "the body is empty: send an ask"},
		{"neither JSON nor YAML", dryRunPath, yaml, "a: b: c", 400,
			"the body is neither JSON nor YAML: yaml: mapping values are not allowed in this context"},
		{"list", dryRunPath, yaml, "[1]", 400, "the body is no mapping: send the fields of an ask"},
		{"two documents", dryRunPath, yaml, "user: a\n---\nuser: b\n", 400,
			"the body has more than one document: send one ask"},
		{"body too long", dryRunPath, yaml, strings.Repeat(" ", 70_000), 413, "the body is longer than 65536 bytes"},
		{"misspelled field", dryRunPath, yaml, "ressource: {vcore: 1}", 400,
			`unknown field "ressource": did you mean "resource"?`},
		{"unknown field", dryRunPath, yaml, "x: 1", 400,
			`unknown field "x": it is one of allocationKey, applicationID, assumeDelayPassed, explainNode, groups, ` +
				"preempts, priority, priorityClassName, queueName, requiredNodeId, resource, tags, user"},
		{"tags that are no texts", dryRunPath, yaml, "tags: [a]", 400, `tags: it must be a mapping of texts, not ""`},
		{"tag that is a field", dryRunPath, yaml, "tags: {yunikorn.apache.org/requiredNode: n1}", 400,
			"tags: yunikorn.apache.org/requiredNode is the field requiredNodeId of the request"},
		{"malformed constraint", dryRunPath, yaml,
			"applicationID: ml\nresource: {vcore: 1}\ntags: {canopy.scheduler/nodeSelector: '['}", 422,
			"the ask would be rejected: tag canopy.scheduler/nodeSelector: not the JSON expected: it ends too early"},
		{"repeated field", dryRunPath, yaml, `{"user": "a", "user": "b"}`, 400, "user appears twice"},
		{"no resource", dryRunPath, yaml, "user: a\nqueueName: root.batch", 400, "resource: it is missing"},
		{"no user", dryRunPath, yaml, "resource: {vcore: 1}", 400,
			"user: it is missing; or name an existing application with applicationID"},
		{"no queue", dryRunPath, yaml, "user: a\nresource: {vcore: 1}", 400,
			"queueName: it is missing; or name an existing application with applicationID"},
		{"invalid quantity", dryRunPath, yaml, "user: a\nqueueName: root.batch\nresource: {vcore: many}", 400,
			`resource: "vcore": invalid quantity: "many"`},
		{"quantity is a list", dryRunPath, yaml, "resource: {vcore: [1]}", 400, `resource: "vcore" must be a quantity`},
		{"resource is a number", dryRunPath, yaml, "resource: 5", 400, "resource: it must be a mapping of resources"},
		{"priority out of range", dryRunPath, yaml, "priority: 99999999999", 400,
			`priority: it must be a whole number of 32 bits, not "99999999999"`},
		{"priority is null", dryRunPath, yaml, "priority: null", 400, "priority: it must be a whole number of 32 bits"},
		{"flag is not a boolean", dryRunPath, yaml, "assumeDelayPassed: maybe", 400,
			`assumeDelayPassed: it must be true or false, not "maybe"`},
		{"invalid queue name", dryRunPath, yaml, "queueName: root..a", 400,
			`queueName: queue name "root..a": each level is 1 to 64 letters, digits or any of _ : # / @ -`},
		{"allocationKey with other fields", dryRunPath, yaml, "allocationKey: ml-2\nuser: a", 400,
			"user: the pending ask that allocationKey names has its own; leave out one of the two"},
		{"empty key", dryRunPath, yaml, "allocationKey: ''", 400, "allocationKey: it is empty"},
		{"unknown key", dryRunPath, yaml, "allocationKey: k", 404, "unknown pending ask k"},
		{"unknown node", dryRunPath, yaml, "allocationKey: ml-2\nexplainNode: n9", 404, "unknown node n9"},
		{"unknown queue", dryRunPath, yaml, "user: a\nqueueName: root.x\nresource: {vcore: 1}", 422,
			"the ask would be rejected: unknown queue root.x"},
		{"unknown application and no user", dryRunPath, yaml, "applicationID: x\nresource: {vcore: 1}", 422,
			"the ask would be rejected: unknown application x"},
		{"not the user of the application", dryRunPath, yaml, "applicationID: ml\nuser: bob\nresource: {vcore: 1}", 400,
			"user: application ml is that of user ann"},
		{"not the queue of the application", dryRunPath, yaml,
			"applicationID: ml\nqueueName: root.prod\nresource: {vcore: 1}", 400,
			"queueName: application ml is in queue root.batch"},
		{"unknown class", dryRunPath, yaml, "applicationID: ml\npriorityClassName: gold\nresource: {vcore: 1}", 422,
			`the ask would be rejected: unknown-class: priority class "gold": the ask names it, but there is no such class`},
		{"system class without permission", dryRunPath, yaml,
			"applicationID: ml\npriorityClassName: system-node-critical\nresource: {vcore: 1}", 422,
			`the ask would be rejected: class-needs-permission: priority class "system-node-critical": user ann may not use it`},
	} {
		t.Run(x.name, func(t *testing.T) {
			w := post(c, x.target, x.kind, x.body)
			var got struct{ Message string }
			assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &got))
			assert.Equal(t, got.Message, x.want)
			assert.Equal(t, w.Code, x.code)
		})
	}
	w := fetch(c, dryRunPath)
	assert.Equal(t, w.Code, http.StatusMethodNotAllowed)
	assert.Equal(t, w.Header().Get("Allow"), "POST, OPTIONS")
}

// FuzzDryRun checks that every body has an expected status, never one of a server error.
func FuzzDryRun(f *testing.F) {
	for _, body := range []string{
		"", "{}", "a: b: c", "allocationKey: ml-2", "applicationID: web\nresource: {vcore: 1}\nassumeDelayPassed: true",
		"<<: &a {user: *a}", "? [x]\n: y",
		`{"user": "eve", "groups": ["ops"], "queueName": "root.prod", "resource": {"vcore": "500m", "x": ` +
			`"9223372036854775807"}}`,
	} {
		f.Add([]byte(body))
	}
	c := startCluster(f, preemptionYAML)
	l, _ := c.Partition("default")
	f.Fuzz(func(t *testing.T, body []byte) {
		w := post(c, dryRunPath, "application/yaml", string(body))
		switch w.Code {
		case http.StatusOK, http.StatusBadRequest, http.StatusNotFound, http.StatusRequestEntityTooLarge,
			http.StatusUnprocessableEntity:
		default:
			t.Fatalf("%d: %s", w.Code, w.Body)
		}
		assert.NilError(t, l.Check(t.Context()))
		_, err := l.Call(t.Context(), scheduler.Wake{})
		assert.NilError(t, err)
	})
}
