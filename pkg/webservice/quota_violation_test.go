package webservice_test

import (
	"encoding/json"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// A queue above an enforced max shows the excess, since when, and when preemption for it begins; another
// queue has no such field.
func TestQueues_QuotaViolationIsShown(t *testing.T) {
	const before = `
partitions:
  - name: default
    preemption: {quotapreemptionenabled: true}
    queues:
      - name: root
        submitacl: '*'
        queues:
          - {name: a, resources: {max: {vcore: 4}}, properties: {quota.preemption.delay: 1m}}
`
	c := startCluster(t, before)
	l, ok := c.Partition("default")
	assert.Assert(t, ok)
	three := amounts(map[string]resources.Quantity{"vcore": 3000})
	mustCall(t, l,
		scheduler.AddNode{Node: "n", Total: three, Schedulable: true},
		scheduler.AddApplication{App: "x", Queue: "root.a"},
		scheduler.ReportAllocation{Node: "n",
			Ask: &objects.Ask{Key: "k", App: "x", Amounts: three, Details: &objects.AskDetails{RequiredNode: "n"}}},
	)
	assert.Assert(t, !strings.Contains(fetch(c, "/ws/v1/partition/default/queues").Body.String(), "quotaViolation"))

	conf, problems := queuesyaml.Load([]byte(strings.Replace(before, "max: {vcore: 4}", "max: {vcore: 1500m}", 1)))
	assert.Assert(t, !problems.HasErrors(), "%v", problems)
	assert.NilError(t, c.Configure(t.Context(), conf))
	var root struct {
		QuotaViolation any
		Children       []struct{ QuotaViolation json.RawMessage }
	}
	assert.NilError(t, json.Unmarshal(fetch(c, "/ws/v1/partition/default/queues").Body.Bytes(), &root))
	assert.Equal(t, root.QuotaViolation, nil)
	var got any
	assert.NilError(t, json.Unmarshal(root.Children[0].QuotaViolation, &got))
	noon := float64(1767355200e9)
	want := map[string]any{"excess": map[string]any{"vcore": 1500.0}, "since": noon, "enforcedFrom": noon + 60e9}
	assert.DeepEqual(t, got, want)
}
