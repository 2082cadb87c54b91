package webservice_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

const preemptionYAML = `
partitions:
  - name: default
    queues:
      - name: root
        submitacl: '*'
        queues:
          - name: prod
            resources: {guaranteed: {vcore: 4}}
            properties: {preemption.delay: 1s}
          - name: batch
            properties: {preemption.priority: leaf}
            limits: [{limit: zoe, users: [zoe], maxresources: {vcore: 1}}]
          - name: held
            resources: {guaranteed: {vcore: 2}, max: {vcore: 2}}
            properties: {preemption.priority: leaf}
`

// preemptionCluster is a cluster with two asks that have preempted: one is placed, the other waits for
// its victim on the nominated node.
func preemptionCluster(t *testing.T) *loop.Cluster {
	t.Helper()
	c := startCluster(t, preemptionYAML)
	l, _ := c.Partition("default")
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	ask := func(key, app string, vcore resources.Quantity, priority int32, age time.Duration) *objects.Ask {
		return &objects.Ask{
			Key: objects.AllocationKey(key), App: objects.AppID(app), Priority: priority,
			Created: objects.TimestampOf(noon.Add(-age)),
			Amounts: amounts(map[string]resources.Quantity{"vcore": vcore}),
			Policy:  objects.PolicySent | objects.PolicyAllowPreemptSelf | objects.PolicyAllowPreemptOther,
		}
	}
	for _, n := range []objects.NodeID{"n1", "n2"} {
		mustCall(t, l,
			scheduler.AddNode{Node: n, Total: amounts(map[string]resources.Quantity{"vcore": 4000}), Schedulable: true})
	}
	for app, queue := range map[objects.AppID]string{"web": "root.prod", "etl": "root.batch", "ml": "root.batch",
		"db": "root.held"} {
		mustCall(t, l, scheduler.AddApplication{App: app, User: security.User{Name: "ann"}, Queue: queue})
	}
	for _, x := range []struct {
		ask  *objects.Ask
		node objects.NodeID
	}{
		{ask("etl-1", "etl", 2000, 10, time.Hour), "n1"}, {ask("etl-2", "etl", 1000, 10, time.Minute), "n1"},
		{ask("db-1", "db", 1000, 0, time.Hour), "n1"},
		{ask("ml-1", "ml", 3000, 20, time.Hour), "n2"}, {ask("db-2", "db", 1000, 0, time.Hour), "n2"},
	} {
		mustCall(t, l, scheduler.ReportAllocation{Ask: x.ask, Node: x.node})
	}
	mustCall(t, l, scheduler.SubmitAsk{Ask: ask("web-1", "web", 2000, 10, time.Minute)})
	mustCall(t, l)
	mustCall(t, l, scheduler.Release{App: "etl", Key: "etl-1", Type: scheduler.PreemptedByScheduler})
	mustCall(t, l)
	mustCall(t, l, scheduler.SubmitAsk{Ask: ask("ml-2", "ml", 1000, 20, 0)})
	mustCall(t, l)
	return c
}

// To renew the golden files: go test ./pkg/webservice -update, and read the diff.
func TestGolden_Preemptions(t *testing.T) {
	const partition = "/ws/v1/partition/default/preemptions"
	checkGolden(t, preemptionCluster(t), []answer{
		{"preemptions", partition},
		{"preemption-1", partition + "/1"},
		{"preemption-2", partition + "/2"},
		{"preemptions-none", partition + "?application=none"},
	})
}

func TestPreemptions_Filters(t *testing.T) {
	c := preemptionCluster(t)
	for query, want := range map[string][]uint64{
		"":                                   {2, 1},
		"?limit=1":                           {2},
		"?limit=5":                           {2, 1},
		"?reason=Guarantee":                  {1},
		"?reason=priority":                   {2},
		"?reason=node":                       nil,
		"?application=web":                   {1},
		"?application=etl":                   {2, 1}, // as a victim
		"?application=etl&reason=guarantee":  {1},
		"?queue=root.prod":                   {1},
		"?queue=ROOT.batch":                  {2, 1},
		"?queue=root":                        {2, 1},
		"?queue=root.bat":                    nil,
		"?application=web&queue=root.batch":  nil, // the same ask or victim must match both
		"?application=web&queue=root.prod":   {1},
		"?queue=root&limit=1&application=ml": {2},
	} {
		w := fetch(c, "/ws/v1/partition/default/preemptions"+query)
		assert.Equal(t, w.Code, http.StatusOK, query)
		var got struct{ Preemptions []struct{ Number uint64 } }
		assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &got))
		var numbers []uint64
		for _, p := range got.Preemptions {
			numbers = append(numbers, p.Number)
		}
		assert.DeepEqual(t, numbers, want)
	}
}

func TestPreemptions_InvalidQueriesAreRejected(t *testing.T) {
	c := preemptionCluster(t)
	for target, want := range map[string]struct {
		code   int
		reason string
	}{
		"none/preemptions":              {404, "Partition not found"},
		"default/preemptions/3":         {404, "preemption 3 not found"},
		"default/preemptions/0":         {400, `preemption "0": it is a number from 1 on`},
		"default/preemptions/x":         {400, `preemption "x": it is a number from 1 on`},
		"default/preemptions?limit=0":   {400, `limit "0": it is a number from 1 on`},
		"default/preemptions?limit=all": {400, `limit "all": it is a number from 1 on`},
		"default/preemptions?reason=might": {400,
			`reason "might": it is one of node, guarantee, fairshare, priority, quota, pressure, operator`},
		"default/preemptions?queue=root..": {400,
			`queue name "root..": each level is 1 to 64 letters, digits or any of _ : # / @ -`},
	} {
		w := fetch(c, "/ws/v1/partition/"+target)
		assert.Equal(t, w.Code, want.code, target)
		var got struct{ Message string }
		assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &got))
		assert.Equal(t, got.Message, want.reason)
	}
}
