package webservice_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Requirements of REQUIREMENTS.md of package scheduler about fields of the REST interface.
func TestRequirements_RESTFields(t *testing.T) {
	const text = `
partitions:
  - name: default
    preemption: {enabled: false}
    queues:
      - name: root
        submitacl: '*'
        queues:
          - {name: plain, properties: {priority.offset: "7"}}
          - {name: fenced, properties: {priority.policy: FeNce, priority.offset: "-3"}}
          - {name: idle, properties: {application.sort.priority: disabled}}
`
	c := startCluster(t, text)
	l, _ := c.Partition("default")
	ask := func(key, app string, priority int32) scheduler.Command {
		return scheduler.SubmitAsk{Ask: &objects.Ask{
			Key: objects.AllocationKey(key), App: objects.AppID(app), Priority: priority,
			Amounts: amounts(map[string]resources.Quantity{"vcore": 1}),
		}}
	}
	mustCall(t, l,
		scheduler.AddApplication{App: "x", Queue: "root.plain"}, scheduler.AddApplication{App: "y", Queue: "root.fenced"},
		ask("x1", "x", 5), ask("x2", "x", 12), ask("y1", "y", -2147483648),
		ask("s1", "y", 2_000_000_000), ask("s2", "y", 2_000_001_000), ask("user", "y", 1_999_999_999),
	)
	get := func(target string, into any) {
		w := fetch(c, target)
		assert.Equal(t, w.Code, http.StatusOK)
		assert.NilError(t, json.Unmarshal(w.Body.Bytes(), into))
	}
	queues := func() map[string]map[string]any {
		var root struct{ Children []map[string]any }
		get("/ws/v1/partition/default/queues", &root)
		byName := map[string]map[string]any{}
		for _, q := range root.Children {
			byName[q["queuename"].(string)] = q
		}
		return byName
	}
	application := func(queue string) map[string]any {
		var list []map[string]any
		get("/ws/v1/partition/default/queue/"+queue+"/applications", &list)
		return list[0]
	}
	partition := func() map[string]any {
		var list []map[string]any
		get("/ws/v1/partitions", &list)
		return list[0]
	}

	t.Run("S4-34 S4-43 S4-44 S4-83 policy, offset and current priority of a queue", func(t *testing.T) {
		q := queues()
		for _, want := range []struct {
			queue                  string
			fence                  bool
			offset, current, sorts any
		}{
			{"root.plain", false, 7.0, 19.0, true},
			{"root.fenced", true, -3.0, -3.0, true},
			{"root.idle", false, nil, -2147483648.0, false},
		} {
			got := q[want.queue]
			assert.Equal(t, got["isPriorityFence"], want.fence, want.queue)
			assert.Equal(t, got["priorityOffset"], want.offset, want.queue)
			assert.Equal(t, got["currentPriority"], want.current, want.queue)
			assert.Equal(t, got["prioritySorting"], want.sorts, want.queue)
		}
	})
	t.Run("S4-3 S4-6 S4-73 S4-80 priorities of asks, and the highest of an application", func(t *testing.T) {
		assert.Equal(t, application("root.plain")["maxRequestPriority"], 12.0)
		y := application("root.fenced")
		assert.Equal(t, y["maxRequestPriority"], 2_000_001_000.0)
		assert.DeepEqual(t, prioritiesByKey(y["requests"]),
			map[string]any{"y1": "-2147483648", "s1": "2000000000", "s2": "2000001000", "user": "1999999999"})
	})
	t.Run("S4-8 the lowest priority and an idle queue differ in pendingResource", func(t *testing.T) {
		mustCall(t, l, scheduler.AddApplication{App: "z", Queue: "root.idle"}, ask("z1", "z", -2147483648))
		q := queues()["root.idle"]
		assert.Equal(t, q["currentPriority"], -2147483648.0)
		assert.DeepEqual(t, q["pendingResource"], map[string]any{"vcore": 1.0})
		mustCall(t, l, scheduler.RemoveApplication{App: "z"})
		assert.Equal(t, queues()["root.idle"]["pendingResource"], nil)
	})
	t.Run("S3-9 pending asks with a system priority while preemption is off", func(t *testing.T) {
		assert.Equal(t, partition()["preemptionEnabled"], false)
		assert.Equal(t, partition()["pendingSystemAsks"], 2.0)
		conf, problems := queuesyaml.Load([]byte(strings.Replace(text, "enabled: false", "enabled: true", 1)))
		assert.Assert(t, !problems.HasErrors(), "%v", problems)
		assert.NilError(t, c.Configure(t.Context(), conf))
		assert.Equal(t, partition()["pendingSystemAsks"], nil, "with preemption on")
	})
	t.Run("S4-18 S4-22 an allocation has the priority of its ask", func(t *testing.T) {
		mustCall(t, l,
			scheduler.AddNode{Node: "n", Total: amounts(map[string]resources.Quantity{"vcore": 9}), Schedulable: true})
		mustCall(t, l)
		x := application("root.plain")
		assert.Equal(t, x["maxRequestPriority"], -2147483648.0, "nothing is pending")
		assert.DeepEqual(t, prioritiesByKey(x["allocations"]), map[string]any{"x1": "5", "x2": "12"})
	})
}

// prioritiesByKey are the priorities of asks or allocations by their keys.
func prioritiesByKey(list any) map[string]any {
	out := map[string]any{}
	for _, x := range list.([]any) {
		one := x.(map[string]any)
		out[one["allocationKey"].(string)] = one["priority"]
	}
	return out
}
