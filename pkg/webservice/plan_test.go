package webservice_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/plan"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// withUsage gives a fixture a node and an application of ann with 4 cores in root.tenant.odd/name.
func withUsage(t *testing.T, o *adminFixture) {
	t.Helper()
	l, _ := o.cluster.Partition("default")
	mustCall(t, l,
		scheduler.AddNode{Node: "n1", Total: amounts(map[string]resources.Quantity{"vcore": 8000}), Schedulable: true},
		scheduler.AddApplication{App: "app-1", User: security.User{Name: "ann", Groups: []string{"ops"}},
			Queue: "root.tenant.odd/name"},
		scheduler.SubmitAsk{Ask: &objects.Ask{Key: "runs", App: "app-1",
			Amounts: amounts(map[string]resources.Quantity{"vcore": 4000})}},
	)
	mustCall(t, l)
}

func TestPlan_SaysWhatWouldChange(t *testing.T) {
	o := newAdminFixture(t, clusterYAML)
	withUsage(t, o)
	propose := func(text string) (p plan.Plan) {
		t.Helper()
		w := o.send(o.handler, http.MethodPost, "/ws/v1/plan", text)
		assert.Equal(t, w.Code, http.StatusOK, w.Body.String())
		assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &p))
		return p
	}
	same := propose(clusterYAML)
	assert.Assert(t, !same.Impact && same.StateKnown)

	lower := propose(strings.NewReplacer("max: {vcore: 6, memory: 8G}", "max: {vcore: 3, memory: 8G}",
		"maxresources: {vcore: 5, memory: 9G}", "maxresources: {vcore: 2, memory: 9G}").Replace(clusterYAML))
	assert.Assert(t, lower.Impact)
	assert.Equal(t, len(lower.OverMax), 1)
	assert.Equal(t, lower.OverMax[0].Queue, "root.tenant")
	assert.Equal(t, len(lower.OverLimit), 1)
	assert.Equal(t, lower.OverLimit[0].User, "ann")

	parent := propose(strings.Replace(clusterYAML, "- name: odd/name", "- name: odd/name\n                parent: true",
		1))
	assert.Equal(t, len(parent.RefusedChanges), 1)
	assert.DeepEqual(t, parent.RefusedChanges[0].Applications, []string{"app-1"})

	gpu := o.send(o.handler, http.MethodPost, "/ws/v1/plan?partition=gpu", clusterYAML)
	assert.Equal(t, gpu.Code, http.StatusBadRequest)
	assert.Assert(t, strings.Contains(gpu.Body.String(), `neither configuration has partition \"gpu\"`), gpu.Body.String())

	locked := propose(strings.ReplaceAll(clusterYAML, "submitacl: '*'", "submitacl: 'bob'"))
	assert.Equal(t, len(locked.LostAccess), 1)
	assert.Equal(t, o.reloads.Current().Number, uint64(1), "a plan has changed the configuration")
}

func TestPlan_InvalidBodies(t *testing.T) {
	o := newAdminFixture(t, clusterYAML)
	for _, c := range []struct {
		body, want string
		status     int
	}{
		{"", "", http.StatusBadRequest},
		{"a: [", `"problems"`, http.StatusBadRequest},
		{"partitions:\n- name: default\n  queues: [{name: root, resources: {max: {vcore: 1}}}]\n", `"problems":[{`,
			http.StatusBadRequest},
		{strings.Repeat("#", 10_001), "longer than max-config-bytes", http.StatusRequestEntityTooLarge},
	} {
		w := o.send(o.handler, http.MethodPost, "/ws/v1/plan", c.body)
		assert.Equal(t, w.Code, c.status, c.body)
		assert.Assert(t, strings.Contains(w.Body.String(), c.want), w.Body.String())
	}
	assert.Equal(t, o.send(o.handler, http.MethodGet, "/ws/v1/plan", "").Code, http.StatusMethodNotAllowed)
	assert.Equal(t, o.send(o.handler, http.MethodPost, "/ws/v1/plan?force", "").Code, http.StatusBadRequest)
	cross := o.send(o.handler, http.MethodPost, "/ws/v1/plan", clusterYAML, "Origin", "https://elsewhere.example",
		"Sec-Fetch-Site", "cross-site")
	assert.Equal(t, cross.Code, http.StatusForbidden)
}

// A plan visits every allocation, so one is made at a time.
func TestPlan_OneAtATime(t *testing.T) {
	o := newAdminFixture(t, clusterYAML)
	body, slow := io.Pipe()
	first := make(chan int)
	go func() {
		w := httptest.NewRecorder()
		o.handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/ws/v1/plan", body))
		first <- w.Code
	}()
	_, err := io.WriteString(slow, clusterYAML) // it returns when the plan reads
	assert.NilError(t, err)
	text := strings.NewReader(clusterYAML)
	refused := httptest.NewRecorder()
	o.handler.ServeHTTP(refused, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/ws/v1/plan", text))
	assert.Equal(t, refused.Code, http.StatusServiceUnavailable)
	assert.Equal(t, refused.Header().Get("Retry-After"), "1")
	assert.Equal(t, text.Len(), 0, "OBS-104: a client that still sends the body would not read the answer")
	assert.NilError(t, slow.Close())
	assert.Equal(t, <-first, http.StatusOK)
	assert.Equal(t, o.send(o.handler, http.MethodPost, "/ws/v1/plan", clusterYAML).Code, http.StatusOK)
}

// A plan whose client has left ends, while it reads the text.
func TestPlan_EndsWithItsRequest(t *testing.T) {
	o := newAdminFixture(t, clusterYAML)
	ctx, leave := context.WithCancel(t.Context())
	leave()
	text := "partitions: [{queues: [{name: root, submitacl: '*', limits: [{users: [u" + strings.Repeat(", u",
		3000) + "], maxapplications: 1}]}]}]"
	w := httptest.NewRecorder()
	o.handler.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/ws/v1/plan", strings.NewReader(text)))
	assert.Equal(t, w.Code, http.StatusServiceUnavailable, w.Body.String())
	assert.Equal(t, w.Header().Get("Retry-After"), "1")
	assert.Equal(t, o.send(o.handler, http.MethodPost, "/ws/v1/plan", clusterYAML).Code, http.StatusOK,
		"the next plan is made")
}

// The JSON of a plan with limits, which are encoded one by one, is that of the whole.
func TestPlan_EncodesLimitsOneByOne(t *testing.T) {
	const limited = "{name: default, queues: [{name: root, submitacl: '*', limits: [{users: [ann, bob], " +
		"maxapplications: 2}]}]}"
	o := newAdminFixture(t, "partitions: ["+limited+"]\n")
	for _, text := range []string{
		"partitions: [" + limited + "]\n", oneLeafYAML,
		"partitions: [" + strings.Replace(limited, "2}", "3}", 1) + ", " + strings.Replace(limited, "default", "gpu",
			1) + "]\n",
	} {
		w := o.send(o.handler, http.MethodPost, "/ws/v1/plan", text)
		assert.Equal(t, w.Code, http.StatusOK, w.Body.String())
		var p plan.Plan
		assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &p))
		whole, err := json.Marshal(p)
		assert.NilError(t, err)
		assert.Equal(t, w.Body.String(), string(whole))
	}
}
