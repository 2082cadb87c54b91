package webservice_test

import (
	"encoding/json"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Quotas in force are shown with what they follow from (QUO-71).
func TestQueues_PercentsAreShown(t *testing.T) {
	c := startCluster(t, `
partitions:
  - name: default
    queues:
      - name: root
        submitacl: '*'
        queues:
          - {name: a, resources: {max: {vcore: 40%, gpu: 2}, guaranteed: {vcore: 60%}}}
          - name: b
            parent: true
            resources: {guaranteed: {vcore: 60}}
            childtemplate: {resources: {max: {vcore: 12.5%}, guaranteed: {memory: 1%}}}
          - {name: c, resources: {max: {vcore: 4}}}
`)
	l, _ := c.Partition("default")
	mustCall(t, l, scheduler.AddNode{Node: "n", Total: amounts(map[string]resources.Quantity{"vcore": 100_000}),
		Schedulable: true})
	var root struct{ Children []json.RawMessage }
	assert.NilError(t, json.Unmarshal(fetch(c, "/ws/v1/partition/default/queues").Body.Bytes(), &root))
	for i, want := range []string{
		`{"maxResource":{"gpu":2,"vcore":40000},"configuredMax":{"vcore":"40%"},"guaranteedResource":{"vcore":50000},` +
			`"configuredGuaranteed":{"vcore":"60%"},"guaranteeReduced":true}`,
		`{"guaranteedResource":{"vcore":50000},"configuredGuaranteed":{"vcore":"60"},"guaranteeReduced":true,` +
			`"template":{"maxPercents":{"vcore":"12.5%"},"guaranteedPercents":{"memory":"1%"}}}`,
		`{"maxResource":{"vcore":4000}}`,
	} {
		var got struct {
			MaxResource          json.RawMessage `json:"maxResource,omitempty"`
			ConfiguredMax        json.RawMessage `json:"configuredMax,omitempty"`
			GuaranteedResource   json.RawMessage `json:"guaranteedResource,omitempty"`
			ConfiguredGuaranteed json.RawMessage `json:"configuredGuaranteed,omitempty"`
			GuaranteeReduced     bool            `json:"guaranteeReduced,omitempty"`
			Template             json.RawMessage `json:"template,omitempty"`
		}
		assert.NilError(t, json.Unmarshal(root.Children[i], &got))
		text, err := json.Marshal(got)
		assert.NilError(t, err)
		assert.Equal(t, string(text), want)
	}
}
