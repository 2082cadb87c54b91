package webservice_test

import (
	"encoding/json"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// Queues and applications show their usage over time where that orders them (FAI-10).
func TestQueues_UsageOverTime(t *testing.T) {
	c := startCluster(t, `
partitions:
  - name: default
    queues:
      - name: root
        submitacl: '*'
        properties: {fairness.halflife: 24h}
        queues:
          - {name: a, properties: {fairness.weight: 2.5, fairness.halflife: 1h}}
          - name: b
`)
	l, _ := c.Partition("default")
	vcores := func(n resources.Quantity) resources.Amounts {
		return amounts(map[string]resources.Quantity{"vcore": n})
	}
	mustCall(t, l, scheduler.AddNode{Node: "n", Total: vcores(4), Schedulable: true},
		scheduler.AddApplication{App: "x", Queue: "root.a", User: security.User{Name: "ann"}},
		scheduler.AddApplication{App: "y", Queue: "root.b", User: security.User{Name: "ann"}},
		scheduler.SubmitAsk{Ask: &objects.Ask{Key: "k", App: "x", Amounts: vcores(1)}})
	var x dao.Application
	assert.NilError(t, json.Unmarshal(fetch(c, "/ws/v1/partition/default/queue/root.a/application/x").Body.Bytes(), &x))
	assert.Equal(t, x.UsageOverTime.Held, 0.25)
	assert.Equal(t, x.UsageOverTime.HalfLife, "1h0m0s")
	var root struct {
		UsageOverTime *dao.UsageOverTime
		Children      []struct{ UsageOverTime *dao.UsageOverTime }
	}
	assert.NilError(t, json.Unmarshal(fetch(c, "/ws/v1/partition/default/queues").Body.Bytes(), &root))
	assert.Assert(t, root.UsageOverTime == nil)
	a, b := root.Children[0].UsageOverTime, root.Children[1].UsageOverTime
	assert.Equal(t, a.Held, 0.25)
	assert.Equal(t, a.Weight, 2.5)
	assert.Equal(t, a.HalfLife, "24h0m0s")
	assert.Assert(t, a.Key > 0 && a.Key < a.Held)
	assert.DeepEqual(t, *b, dao.UsageOverTime{Weight: 1, HalfLife: "24h0m0s"})
	var y dao.Application
	assert.NilError(t, json.Unmarshal(fetch(c, "/ws/v1/partition/default/queue/root.b/application/y").Body.Bytes(), &y))
	assert.Assert(t, y.UsageOverTime == nil)
}
