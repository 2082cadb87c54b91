package plan

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"
)

// A plan lists the queues above a max with the time after which the max is enforced (CFG-127).
func TestCompute_EnforcedAfter(t *testing.T) {
	conf := func(on bool, max, delay string) string {
		return fmt.Sprintf("partitions:\n- preemption: {quotapreemptionenabled: %t}\n  queues:\n  - name: root\n    "+
			"submitacl: '*'\n"+
			"    queues: [{name: a, resources: {max: {%s}}, properties: {quota.preemption.delay: %s}}]\n", on, max, delay)
	}
	work := State{"default": {
		Leaf:      map[string]bool{"root": false, "root.a": true},
		Allocated: map[string]amounts{"root": {"vcore": 8000}, "root.a": {"vcore": 8000, "gpu": 3}},
	}}
	const over = "root.a is over its new max by vcore 2: it holds 8, and may hold 6"
	for _, c := range []struct {
		name, before, after string
		want                []string
	}{
		{"not enforced", conf(false, "vcore: 9", "5m"), conf(false, "vcore: 6", "5m"), []string{over}},
		{"no delay", conf(true, "vcore: 9", "0s"), conf(true, "vcore: 6", "0s"), []string{over}},
		{"enforced", conf(true, "vcore: 9", "5m"), conf(true, "vcore: 6", "5m"),
			[]string{over + "; if it still is after 5m0s, allocations are preempted"}},
		{"enforced from now on", conf(false, "vcore: 9", "5m"), conf(true, "vcore: 6", "5m"),
			[]string{over + "; if it still is after 5m0s, allocations are preempted"}},
		{"the same max, and quota preemption becomes enabled", conf(false, "vcore: 6, gpu: 2", "5m"),
			conf(true, "vcore: 6, gpu: 2", "5m"), []string{
				"root.a is over its max by gpu 1: it holds 3, and may hold 2; if it still is after 5m0s, allocations are preempted",
				"root.a is over its max by vcore 2: it holds 8, and may hold 6; if it still is after 5m0s, allocations are " +
					"preempted",
			}},
		{"the same max, and a new delay", conf(true, "vcore: 6", "0s"), conf(true, "vcore: 6", "1h"),
			[]string{"root.a is over its max by vcore 2: it holds 8, and may hold 6; if it still is after 1h0m0s, allocations " +
				"are preempted"}},
		{"the same max, and another delay", conf(true, "vcore: 6", "5m"), conf(true, "vcore: 6", "1h"), nil},
		{"the same max, and quota preemption becomes disabled", conf(true, "vcore: 6", "5m"), conf(false, "vcore: 6", "5m"),
			nil},
		{"exactly the max", conf(false, "vcore: 8", "5m"), conf(true, "vcore: 8", "5m"), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, o := range Compute(load(t, c.before), load(t, c.after), work).OverMax {
				got = append(got, o.String())
			}
			assert.DeepEqual(t, got, c.want)
		})
	}
}

// A max in percent is compared as it is with the nodes of now (QUO-70).
func TestCompute_OverMaxInPercent(t *testing.T) {
	conf := func(max string) string {
		return "partitions:\n- queues:\n  - name: root\n    submitacl: '*'\n    queues: [{name: p, " +
			"resources: {max: {vcore: 50%}}, queues: [{name: a, resources: {max: {" + max + "}}}]}]\n"
	}
	work := State{"default": {
		Leaf:      map[string]bool{"root": false, "root.p": false, "root.p.a": true},
		Allocated: map[string]amounts{"root": {"vcore": 8000}, "root.p": {"vcore": 8000}, "root.p.a": {"vcore": 8000}},
		Capacity:  amounts{"vcore": 30_000},
	}}
	p := Compute(load(t, conf("vcore: 60%")), load(t, conf("vcore: 40%")), work)
	assert.Equal(t, len(p.OverMax), 1)
	assert.Equal(t, p.OverMax[0].String(), "root.p.a is over its new max by vcore 2: it holds 8, and may hold 6")
	assert.DeepEqual(t, p.Change.Partitions[0].Queues[0].Values[0].Before, "60%")
	assert.Equal(t, len(Compute(load(t, conf("vcore: 40%")), load(t, conf("vcore: 60%")), work).OverMax), 0)
}
