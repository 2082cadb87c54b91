package webservice_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
	"github.com/canopy-scheduler/canopy/pkg/webservice"
)

// clusterYAML is the configuration of most tests.
const clusterYAML = `
partitions:
  - name: default
    nodesortpolicy: {type: binpacking, resourceweights: {vcore: 2, memory: 0.5}}
    queues:
      - name: root
        submitacl: '*'
        queues:
          - name: Tenant
            properties: {priority.policy: fence, priority.offset: "7", preemption.policy: fence, note: kept}
            resources: {guaranteed: {vcore: 2}, max: {vcore: 6, memory: 8G}}
            childtemplate:
              {maxapplications: 3, resources: {max: {vcore: 1}}, properties: {priority.offset: "1"}}
            queues:
              - name: fair
                maxapplications: 5
                properties: {application.sort.policy: fair, application.sort.priority: disabled}
              - name: odd/name
                limits:
                  - {limit: ops, groups: [ops], maxapplications: 2}
                  - {limit: ann, users: [ann], maxresources: {vcore: 5, memory: 9G}}
                properties: {application.sort.policy: stateaware, preemption.policy: disabled}
          - name: idle
            properties: {preemption.delay: 5s, quota.preemption.delay: 1m}
  - name: empty
    preemption: {enabled: false, quotapreemptionenabled: true}
    queues:
      - name: root
        submitacl: '*'
`

type discardSink struct{}

func (discardSink) Deliver([]scheduler.Effect) {}

// noon is the time of the clock of every cluster.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// startCluster starts the loops of a configuration, with a clock that always shows noon.
func startCluster(t testing.TB, text string) *loop.Cluster {
	t.Helper()
	conf, problems := queuesyaml.Load([]byte(text))
	assert.Assert(t, !problems.HasErrors(), "%v", problems)
	opt := loop.Options{Now: func() time.Time { return noon }}
	c := loop.NewCluster(opt, func(string) loop.Sink { return discardSink{} }, nil)
	t.Cleanup(c.End)
	assert.NilError(t, c.Configure(t.Context(), conf))
	return c
}

// busyCluster is a cluster of clusterYAML with nodes, applications, allocations, pending asks and foreign allocations.
func busyCluster(t *testing.T) *loop.Cluster {
	t.Helper()
	c := startCluster(t, clusterYAML)
	fill(t, c)
	return c
}

// fill adds the objects of busyCluster.
func fill(t testing.TB, c *loop.Cluster) {
	t.Helper()
	l, ok := c.Partition("default")
	assert.Assert(t, ok)
	machine := amounts(map[string]resources.Quantity{"vcore": 4000, "memory": 8_000_000_000, "pods": 10})
	user := security.User{Name: "ann", Groups: []string{"dev", "ops"}}
	created := time.Date(2026, 1, 2, 11, 59, 0, 0, time.UTC)
	ask := func(key, app string, vcore resources.Quantity, priority int32) scheduler.SubmitAsk {
		return scheduler.SubmitAsk{Ask: &objects.Ask{
			Key: objects.AllocationKey(key), App: objects.AppID(app), Priority: priority, Created: objects.TimestampOf(created),
			Amounts: amounts(map[string]resources.Quantity{"vcore": vcore, "memory": 1_000_000_000}),
			Details: &objects.AskDetails{Tags: map[string]string{"kubernetes.io/meta/podName": key}},
		}}
	}
	picky := ask("picky", "app-1", 100, -1)
	picky.Ask.Details.RequiredNode = "n2"
	mustCall(t, l,
		scheduler.AddNode{
			Node: "n1", Total: machine, Schedulable: true,
			Attributes: map[string]string{"si/hostname": "host-1", "si/rackname": "rack-1", "zone": "a"},
		},
		scheduler.AddNode{Node: "n2", Total: machine},
		scheduler.ReportForeign{Foreign: objects.Foreign{
			Key: "daemon", Node: "n1", Amounts: amounts(map[string]resources.Quantity{"vcore": 500}), Static: true,
		}},
		scheduler.AddApplication{App: "app-1", User: user, Queue: "root.tenant.fair"},
		scheduler.AddApplication{App: "app-2", User: user, Queue: "root.tenant.odd/name"},
		scheduler.AddApplication{App: "app-3", User: user, Queue: "root.tenant.fair"},
		ask("runs", "app-1", 3500, 10), ask("waits", "app-1", 1000, 5), picky, ask("next", "app-2", 200, 0),
	)
	mustCall(t, l) // the decisions that the commands allow are made
}

// endedCluster is busyCluster with applications that have ended: "again" completed twice, "idle" has no
// asks, and "lost" was rejected twice. The queue of "idle" was removed from the configuration.
func endedCluster(t *testing.T) *loop.Cluster {
	t.Helper()
	c := busyCluster(t)
	l, _ := c.Partition("default")
	ask := func(app string) scheduler.SubmitAsk {
		return scheduler.SubmitAsk{Ask: &objects.Ask{
			Key: objects.AllocationKey(app), App: objects.AppID(app),
			Amounts: amounts(map[string]resources.Quantity{"vcore": 1}),
		}}
	}
	bob := security.User{Name: "bob", Groups: []string{"bob"}}
	mustCall(t, l,
		scheduler.AddApplication{App: "again", User: bob, Queue: "root.tenant.fair"}, ask("again"),
		scheduler.RemoveApplication{App: "again"},
		scheduler.AddApplication{App: "again", User: bob, Queue: "root.idle"}, ask("again"),
		scheduler.RemoveApplication{App: "again"},
		scheduler.AddApplication{App: "idle", User: bob, Queue: "root.idle"}, ask("idle"),
		scheduler.Release{App: "idle", Key: "idle"},
	)
	for _, queue := range []string{"root.gone", "root.tenant"} {
		_, err := l.Call(t.Context(), scheduler.AddApplication{App: "lost", User: bob, Queue: queue})
		assert.NilError(t, err)
	}
	conf, problems := queuesyaml.Load([]byte(strings.Replace(clusterYAML, "- name: idle", "- name: other", 1)))
	assert.Assert(t, !problems.HasErrors(), "%v", problems)
	assert.NilError(t, c.Configure(t.Context(), conf))
	return c
}

func mustCall(t testing.TB, l *loop.Loop, cmds ...scheduler.Command) {
	t.Helper()
	effects, err := l.Call(t.Context(), cmds...)
	assert.NilError(t, err)
	for _, e := range effects {
		switch e.(type) {
		case scheduler.Refused, scheduler.AskRejected, scheduler.NodeRejected, scheduler.ApplicationRejected:
			t.Fatal(e)
		}
	}
}

func amounts(m map[string]resources.Quantity) resources.Amounts { return resources.FromMap(m) }

// request sends a request to the handler of a cluster.
func request(
	c *loop.Cluster, opt webservice.Options, method, target string, headers ...string,
) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(context.Background(), method, target, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	if opt.Now == nil && time.Now().Year() > 2000 { // the clock of synctest begins in 2000, and is used as it is
		opt.Now = func() time.Time { return noon }
	}
	w := httptest.NewRecorder()
	webservice.Handler(c, opt).ServeHTTP(w, r)
	mustFollowDescription(method, target, w)
	return w
}

// errorBody is the body of an error with one text (RST-1), and more fields.
func errorBody(status int, text string, more ...string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	body := fmt.Sprintf(`{"status_code":%d,"message":%[2]s,"description":%[2]s,"StatusCode":%[1]d,"Message":%[2]s,`+
		`"Description":%[2]s`, status, quoted)
	return strings.Join(append([]string{body}, more...), ",") + "}"
}

func fetch(c *loop.Cluster, target string, headers ...string) *httptest.ResponseRecorder {
	return request(c, webservice.Options{}, http.MethodGet, target, headers...)
}
