package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// A plan says which dynamic leaves keep their settings, and which get those of the new child template (QUE-24).
func TestCompute_Leaves(t *testing.T) {
	conf := func(existing, max string) string {
		return fmt.Sprintf("partitions: [{placementrules: [{name: provided, create: true}], queues: [{name: root, "+
			"submitacl: '*', queues: [{name: t, parent: true, "+
			"properties: {childtemplate.existing: %s}, childtemplate: {resources: {max: {%s}}}}]}]}]", existing, max)
	}
	leaf := func(max resources.Quantity, tags ...string) DynamicLeaf {
		return DynamicLeaf{configs.ChildTemplate{Max: resources.LimitFromMap(amounts{"vcore": max}),
			Settings: configs.DefaultSettings()}, tags}
	}
	tagged := leaf(9000, configs.TagMax, configs.TagGuaranteed, configs.TagMaxApplications)
	tagged.Settings.Guaranteed, tagged.Settings.MaxApplications = resources.GuaranteeFromMap(amounts{"vcore": 1000}), 3
	s := NewPartition()
	s.Dynamic["root.t.a"], s.Dynamic["root.t.new"], s.Dynamic["root.t.x.tagged"] = leaf(2000), leaf(6000), tagged
	s.Allocated["root.t.a"], s.Allocated["root.t.new"] = amounts{"vcore": 3000}, amounts{"gpu": 3}
	for _, c := range []struct {
		name, before, after string
		want                []string
	}{
		{"the same", conf("keep", "vcore: 6"), conf("keep", "vcore: 6"), nil},
		{"kept", conf("keep", "vcore: 4"), conf("keep", "vcore: 6"),
			[]string{"dynamic leaf root.t.a keeps its settings, unlike new leaves: max vcore 2, new leaves 6"}},
		{"kept, with less than it holds for new leaves", conf("keep", "vcore: 6"), conf("keep", "vcore: 1"), []string{
			"dynamic leaf root.t.a keeps its settings, unlike new leaves: max vcore 2, new leaves 1",
			"dynamic leaf root.t.new keeps its settings, unlike new leaves: max vcore 6, new leaves 1",
		}},
		{"configured from now on", conf("keep", "vcore: 4"),
			strings.Replace(conf("keep", "vcore: 6"), "childtemplate:", "queues: [{name: a}], childtemplate:", 1), nil},
		{"updated", conf("keep", "vcore: 6"), conf("update", "vcore: 6"),
			[]string{"dynamic leaf root.t.a gets the child template: max vcore 2 -> 6"}},
		{"updated to less than it holds", conf("update", "vcore: 6"), conf("update", "vcore: 1, gpu: 2"), []string{
			"root.t.a is over its new max by vcore 2: it holds 3, and may hold 1",
			"root.t.new is over its new max by gpu 1: it holds 3, and may hold 2",
			"dynamic leaf root.t.a gets the child template: max gpu not set -> 2; max vcore 2 -> 1",
			"dynamic leaf root.t.new gets the child template: max gpu not set -> 2; max vcore 6 -> 1",
		}},
		{"over a max that stays", conf("update", "vcore: 6"), conf("update", "vcore: 2, pods: 9"), []string{
			"dynamic leaf root.t.a gets the child template: max pods not set -> 9",
			"dynamic leaf root.t.new gets the child template: max pods not set -> 9; max vcore 6 -> 2",
		}},
		{"kept again", conf("update", "vcore: 6"), conf("keep", "vcore: 6"), []string{
			"dynamic leaf root.t.a gets back what it was created with",
			"dynamic leaf root.t.new gets back what it was created with",
			"dynamic leaf root.t.x.tagged gets back what it was created with",
		}},
		{"the queue above drains", conf("keep", "vcore: 6"), "partitions: [{queues: [{name: root, submitacl: '*'}]}]", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Compute(load(t, c.before), load(t, c.after), State{"default": s})
			var got []string
			for _, o := range p.OverMax {
				got = append(got, o.String())
			}
			for _, l := range p.Leaves {
				got = append(got, l.String())
				assert.Equal(t, l.Kept, strings.Contains(l.String(), "keeps its settings"), l.Queue)
			}
			assert.DeepEqual(t, got, c.want)
		})
	}
}

// A queue that is above its max already has what is left of the delay (QUO-48).
func TestCompute_EnforcedAfterTheTimeLeft(t *testing.T) {
	const conf = "partitions: [{preemption: {quotapreemptionenabled: true}, " +
		"queues: [{name: root, submitacl: '*', queues: " +
		"[{name: a, resources: {max: {vcore: %d}}, properties: {quota.preemption.delay: %s}}]}]}]"
	s := NewPartition()
	s.Allocated["root.a"], s.AboveMax["root.a"] = amounts{"vcore": 8000}, 8*time.Second
	for delay, want := range map[string]string{
		"10s": "if it still is after 2s, allocations are preempted", "8s": "allocations are preempted at once",
		"5s": "allocations are preempted at once",
	} {
		p := Compute(load(t, fmt.Sprintf(conf, 7, "10s")), load(t, fmt.Sprintf(conf, 6, delay)), State{"default": s})
		assert.Equal(t, len(p.OverMax), 1)
		assert.Equal(t, p.OverMax[0].String(), "root.a is over its new max by vcore 2: it holds 8, and may hold 6; "+want)
	}
}
