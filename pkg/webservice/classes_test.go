package webservice_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs/diff"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/registry"
)

const (
	jsonBody = "application/json"
	yamlBody = "application/yaml"
)

// guideClassYAML is the priority class of the Kubernetes documentation, unchanged.
const guideClassYAML = `apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata:
  name: high-priority
value: 1000000
globalDefault: false
description: "This priority class should be used for XYZ service pods only."
`

func (o *adminFixture) classes() string {
	o.t.Helper()
	var out []string
	for _, c := range o.cluster.Config().Classes.All() {
		if c.IsSystem() && c.SubmitACL == nil {
			continue
		}
		line := fmt.Sprint(c.Name, " ", c.Value)
		if c.GlobalDefault {
			line += " default"
		}
		if c.Description != "" && !c.IsSystem() {
			line += " " + c.Description
		}
		if c.SubmitACL != nil {
			line += " for " + c.SubmitACL.String()
		}
		out = append(out, line)
	}
	return strings.Join(out, ", ")
}

func (o *adminFixture) class(method, name, body string, headers ...string) *httptest.ResponseRecorder {
	o.t.Helper()
	path := "/ws/v1/priorityclass/" + name
	if method == http.MethodPost {
		path = "/ws/v1/priorityclasses"
	}
	if len(headers) == 0 && method != http.MethodDelete {
		headers = []string{"Content-Type", jsonBody}
	}
	return o.send(o.admin, method, path, body, headers...)
}

func TestPriorityClasses_CreateUpdateDelete(t *testing.T) {
	o := newAdminFixture(t, "# mine\n"+oneLeafYAML)
	w := o.class(http.MethodPost, "", guideClassYAML, "Content-Type", yamlBody)
	wantAnswer(t, w, http.StatusCreated, `{"name":"high-priority","value":1000000,"globalDefault":false,`+
		`"preemptionPolicy":"PreemptLowerPriority","description":"This priority class should be used for XYZ service pods `+
		`only.",`+
		`"generation":2,"changed":true}`)
	w = o.class(http.MethodPost, "",
		`{"name": "low", "value": -5, "globalDefault": true, "preemptionPolicy": "Never", "submitacl": "ann"}`)
	assert.Equal(t, w.Code, http.StatusCreated, w.Body.String())
	assert.Equal(t, o.classes(),
		"high-priority 1000000 This priority class should be used for XYZ service pods only., low -5 default for ann")

	// S1: a body without a policy and a submit ACL keeps both.
	w = o.class(http.MethodPut, "low", `{"value": -5, "description": "less"}`)
	wantAnswer(t, w, http.StatusOK, `{"name":"low","value":-5,"globalDefault":false,"preemptionPolicy":"Never",`+
		`"description":"less","submitacl":"ann","generation":4,"changed":true}`)
	w = o.class(http.MethodPut, "low", `{"value": -5, "description": "less", "preemptionPolicy": null, "submitacl": null}`)
	assert.Assert(t, strings.Contains(w.Body.String(), `"generation":4,"changed":false`), w.Body.String())
	w = o.class(http.MethodPut, "system-node-critical", `{"value": 2000001000, "submitacl": " ops"}`)
	assert.Equal(t, w.Code, http.StatusOK, w.Body.String())

	// S0-28, S0-29: a class can be deleted, and created again with another value.
	w = o.class(http.MethodDelete, "low", "")
	wantAnswer(t, w, http.StatusOK, `{"name":"low","value":-5,"globalDefault":false,"preemptionPolicy":"Never",`+
		`"description":"less","submitacl":"ann","generation":6,"changed":true}`)
	w = o.class(http.MethodPost, "", `{"name": "low", "value": 99}`)
	assert.Equal(t, w.Code, http.StatusCreated, w.Body.String())
	assert.Equal(t, o.classes(),
		"high-priority 1000000 This priority class should be used for XYZ service pods only., low 99, "+
			"system-node-critical 2000001000 for  ops")

	// Each of these changes is a generation, and a rollback restores its classes.
	assert.Assert(t, strings.HasPrefix(o.reloads.Current().Text, "# mine\n"+oneLeafYAML+"priorityclasses:\n"))
	assert.Equal(t, o.rollback(3).Code, http.StatusOK)
	assert.Equal(t, o.classes(),
		"high-priority 1000000 This priority class should be used for XYZ service pods only., low -5 default for ann")
	var history struct {
		Changes diff.Change `json:"changes"`
	}
	assert.NilError(t, json.Unmarshal(o.get("/ws/v1/config/history/3").Body.Bytes(), &history))
	assert.Equal(t, history.Changes.Summary(), "1 priority class created")
}

func TestPriorityClasses_AreShown(t *testing.T) {
	o := newAdminFixture(t, oneLeafYAML+"priorityclasses: [{name: low, value: -5, submitacl: ''}]\n")
	w := o.get("/ws/v1/priorityclasses")
	assert.Equal(t, w.Header().Get("Content-Type"), "application/json; charset=UTF-8")
	wantAnswer(t, w, http.StatusOK,
		`[{"name":"low","value":-5,"globalDefault":false,"preemptionPolicy":"PreemptLowerPriority","submitacl":""},`+
			`{"name":"system-cluster-critical","value":2000000000,"globalDefault":false,`+
			`"preemptionPolicy":"PreemptLowerPriority",`+
			`"description":"For what must run in the cluster, and may move to another node if it has to.","system":true},`+
			`{"name":"system-node-critical","value":2000001000,"globalDefault":false,"preemptionPolicy":"PreemptLowerPriority",`+
			`"description":"For what must run on its node.","system":true}]`)
	w = o.get("/ws/v1/priorityclass/low", "Accept", yamlBody)
	assert.Equal(t, w.Header().Get("Content-Type"), "application/x-yaml")
	wantAnswer(t, w, http.StatusOK, "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata:\n    name: low\n"+
		"value: -5\npreemptionPolicy: PreemptLowerPriority\nsubmitacl: \"\"\n")
	w = o.get("/ws/v1/priorityclasses", "Accept", "text/yaml")
	assert.Assert(t,
		strings.HasPrefix(w.Body.String(), "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClassList\nitems:\n"),
		w.Body.String())
	wantAnswer(t, o.get("/ws/v1/priorityclass/none"), http.StatusNotFound,
		errorBody(404, `unknown-class: priority class "none": there is no such class`, `"reason":"unknown-class"`))

	// The YAML that is shown can be sent to another scheduler.
	other := newAdminFixture(t, oneLeafYAML)
	w = other.class(http.MethodPost, "", o.get("/ws/v1/priorityclass/low", "Accept", yamlBody).Body.String(),
		"Content-Type", yamlBody)
	assert.Equal(t, w.Code, http.StatusCreated, w.Body.String())
	assert.Equal(t, other.classes(), o.classes())
}

func TestPriorityClasses_InvalidBodyIsRejectedWithReason(t *testing.T) {
	const start = oneLeafYAML + "priorityclasses: [{name: a, value: 1, globalDefault: true}, {name: b, value: 2}]\n"
	for _, c := range []struct {
		name, method, class, body string
		status                    int
		reason                    string
	}{
		{"reserved name", "POST", "", `{"name": "system-x", "value": 1}`, 422, "reserved-name"},
		{"value above the user maximum", "POST", "", `{"name": "x", "value": 1000000001}`, 422, "above-user-maximum"},
		{"unknown policy", "POST", "", `{"name": "x", "value": 1, "preemptionPolicy": "never"}`, 422, "invalid-policy"},
		{"invalid name", "POST", "", `{"name": "X", "value": 1}`, 422, "invalid-name"},
		{"S3-11: no value", "POST", "", `{"name": "x"}`, 422, "invalid-value"},
		{"S2-4: a value of more than 32 bits", "POST", "", `{"name": "x", "value": 2147483648}`, 422, "invalid-value"},
		{"invalid ACL", "POST", "", `{"name": "x", "value": 1, "submitacl": "a b c"}`, 422, "invalid-acl"},
		{"no name", "POST", "", `{"value": 1}`, 422, "invalid-name"},
		{"S2-2: existing name", "POST", "", `{"name": "a", "value": 1}`, 409, "already-exists"},
		{"second global default", "POST", "", `{"name": "x", "value": 1, "globalDefault": true}`, 403,
			"second-global-default"},
		{"PUT of a second global default", "PUT", "b", `{"value": 2, "globalDefault": true}`, 403, "second-global-default"},
		{"PUT of another value", "PUT", "a", `{"value": 3}`, 422, "value-immutable"},
		{"PUT of another policy", "PUT", "a", `{"value": 1, "preemptionPolicy": "Never"}`, 422, "policy-immutable"},
		{"PUT of an unknown class", "PUT", "x", `{"value": 1}`, 404, "unknown-class"},
		{"S0-26: another name", "PUT", "a", `{"name": "b", "value": 1}`, 400, ""},
		{"DELETE of an unknown class", "DELETE", "x", "", 404, "unknown-class"},
		{"DELETE of a system class", "DELETE", "system-node-critical", "", 422, "reserved-name"},
		{"unknown field", "POST", "", `{"name": "x", "value": 1, "globaldefault": true}`, 400, ""},
		{"list", "POST", "", `[1]`, 400, ""},
		{"empty body", "POST", "", ``, 400, ""},
		{"neither JSON nor YAML", "POST", "", `{`, 400, ""},
		{"another kind", "POST", "", `{"kind": "Pod", "name": "x", "value": 1}`, 422, "invalid-kind"},
		{"body too long", "POST", "", strings.Repeat("#", 1<<20+1), 413, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := newAdminFixture(t, start)
			w := o.class(c.method, c.class, c.body)
			assert.Equal(t, w.Code, c.status, w.Body.String())
			var got struct{ Reason, Message string }
			assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &got))
			assert.Equal(t, got.Reason, c.reason)
			assert.Assert(t, got.Message != "" && strings.HasPrefix(got.Message, c.reason), got.Message)
			assert.Equal(t, o.reloads.Current().Number, uint64(1), "a rejected class became a generation")
		})
	}
}

func TestPriorityClasses_OnlyAdminListenerChangesThem(t *testing.T) {
	o := newAdminFixture(t, oneLeafYAML)
	body := `{"name": "x", "value": 1}`
	for _, c := range []struct {
		name    string
		handler http.Handler
		headers []string
		status  int
	}{
		{"public listener", o.handler, []string{"Content-Type", jsonBody}, http.StatusMethodNotAllowed},
		{"content type of a form", o.admin, []string{"Content-Type", "text/plain"}, http.StatusUnsupportedMediaType},
		{"cross-origin page", o.admin, []string{"Content-Type", jsonBody, "Sec-Fetch-Site", "cross-site"},
			http.StatusForbidden},
		{"another host", o.admin, []string{"Content-Type", jsonBody, "Host", "evil.example"}, http.StatusForbidden},
	} {
		w := o.send(c.handler, http.MethodPost, "/ws/v1/priorityclasses", body, c.headers...)
		assert.Equal(t, w.Code, c.status, "%s: %s", c.name, w.Body.String())
	}
	for _, method := range []string{http.MethodPut, http.MethodDelete} {
		w := o.send(o.handler, method, "/ws/v1/priorityclass/x", body, "Content-Type", jsonBody)
		assert.Equal(t, w.Code, http.StatusMethodNotAllowed)
		w = o.send(o.admin, method, "/ws/v1/priorityclass/x", body, "Content-Type", jsonBody, "Sec-Fetch-Site", "cross-site")
		assert.Equal(t, w.Code, http.StatusForbidden)
	}
	assert.Equal(t, o.classes(), "")
}

func TestPriorityClasses_IfMatchMakesChangeConditional(t *testing.T) {
	o := newAdminFixture(t, oneLeafYAML)
	body := `{"name": "x", "value": 1}`
	assert.Equal(t, o.class(http.MethodPost, "", body, "Content-Type", jsonBody, "If-Match", `"7"`).Code,
		http.StatusPreconditionFailed)
	assert.Equal(t, o.class(http.MethodPost, "", body, "Content-Type", jsonBody, "If-Match", `"1"`).Code,
		http.StatusCreated)
}

// All classes are created, although each change edits the text of the one before.
func TestS0_15_ConcurrentClassCreation(t *testing.T) {
	o := newAdminFixture(t, oneLeafYAML)
	var all sync.WaitGroup
	const many = 6
	codes := make([]int, many)
	for i := range many {
		all.Go(func() {
			codes[i] = o.class(http.MethodPost, "", fmt.Sprintf(`{"name": "c%d", "value": %d}`, i, i)).Code
		})
	}
	all.Wait()
	for _, code := range codes {
		assert.Equal(t, code, http.StatusCreated)
	}
	assert.Equal(t, len(o.cluster.Config().Classes.All()), many+2)
}

// FuzzClassBody looks for a body that makes reading a class panic, or for an invalid class that is accepted.
func FuzzClassBody(f *testing.F) {
	f.Add(guideClassYAML, "high-priority")
	f.Add(`{"name": "x", "value": 1, "submitacl": " dev", "globalDefault": true}`, "")
	f.Add(`{"metadata": {"name": "x"}, "value": [1]}`, "y")
	f.Fuzz(func(t *testing.T, body, name string) {
		doc, problems := queuesyaml.PriorityClasses.ReadOne([]byte(body), registry.Key{Name: name}, queuesyaml.Options{})
		if !problems.HasErrors() {
			assert.Equal(t, len(doc.Object.Check()), 0)
		}
	})
}
