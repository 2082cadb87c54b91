package plan

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

const oldYAML = `
partitions:
- queues:
  - name: root
    submitacl: 'admin'
    queues:
    - {name: leaf, submitacl: 'ann dev'}
    - name: team
      submitacl: '*'
      resources: {max: {vcore: 10, gpu: 4}}
      queues: [{name: x}, {name: y, resources: {max: {vcore: 8}}}]
    - {name: gone, submitacl: '*', resources: {max: {vcore: 1}}}
- name: gpu
  queues: [{name: root, submitacl: '*', queues: [{name: a, resources: {max: {vcore: 2}}}]}]
`

const newYAML = `
partitions:
- queues:
  - name: root
    submitacl: 'admin'
    queues:
    - {name: leaf, parent: true, submitacl: ' dev'}
    - name: team
      resources: {max: {vcore: 6, gpu: 4}}
- name: gpu
  queues: [{name: root, submitacl: '*', queues: [{name: a, resources: {max: {vcore: 1}}}]}]
`

func load(t testing.TB, text string) *configs.Config {
	t.Helper()
	c, problems := queuesyaml.Load([]byte(text))
	assert.Assert(t, c != nil, problems)
	return c
}

type amounts = map[string]resources.Quantity

func testState() State {
	app := func(id, queue, user string, groups ...string) Application {
		return Application{id, queue, security.User{Name: user, Groups: groups}}
	}
	return State{
		"default": {
			Leaf: map[string]bool{"root": false, "root.leaf": true, "root.team": false, "root.team.x": true, "root.team.y": true,
				"root.gone": true},
			Allocated: map[string]amounts{
				"root": {"vcore": 9500}, "root.team": {"vcore": 8500, "gpu": 5}, "root.team.x": {"vcore": 8000},
				"root.gone": {"vcore": 1000},
			},
			Applications: []Application{
				app("app-2", "root.leaf", "bob", "dev"), app("app-1", "root.leaf", "ann", "ops"),
				app("app-3", "root.leaf", "admin"),
				app("app-5", "root.team.x", "eve", "eve"), app("app-4", "root.team.x", "admin"),
				app("app-6", "root.leaf", "zoe"), // without access before the change
			},
		},
		"gpu": {Allocated: map[string]amounts{"root.a": {"vcore": 1000}}},
	}
}

func TestCompute_ImpactOnWorkloads(t *testing.T) {
	p := Compute(load(t, oldYAML), load(t, newYAML), testState())
	assert.Assert(t, p.Impact && p.StateKnown)
	assert.Equal(t, p.Summary, "3 queues removed, 3 queues changed")
	assert.DeepEqual(t, p.RefusedChanges, []RefusedChange{
		{"default", "root.leaf", "leaf", "parent", []string{"app-1", "app-2", "app-3", "app-6"}},
		{"default", "root.team", "parent", "leaf", []string{"app-4", "app-5"}},
	})
	// gpu exceeds a max that does not change; root.team.y and root.gone are removed and drain.
	assert.DeepEqual(t, p.OverMax,
		[]QueueOverMax{{Partition: "default", Queue: "root.team", Resource: "vcore", Allocated: 8500, Max: 6000, By: 2500}})
	assert.DeepEqual(t, p.LostAccess, []LostAccess{
		{"default", "app-1", "ann", []string{"ops"}, "root.leaf"},
		{"default", "app-5", "eve", []string{"eve"}, "root.team.x"},
	})
	assert.Equal(t, p.RefusedChanges[0].String(),
		"leaf root.leaf cannot become a parent: it holds app-1, app-2, app-3, app-6")
	assert.Equal(t, p.OverMax[0].String(), "root.team is over its new max by vcore 2500m: it holds 8500m, and may hold 6")
	assert.Equal(t, p.LostAccess[0].String(), "user ann loses submit access to root.leaf, where application app-1 is")
}

// A change is also refused because of dynamic and draining queues, and of a draining partition, which are in
// no configuration.
func TestCompute_RefusedByServerState(t *testing.T) {
	const old = "partitions: [{queues: [{name: root, submitacl: '*', queues: [{name: a, parent: true}]}]}]"
	const new = "partitions: [{queues: [{name: root, submitacl: '*', queues: [{name: a, queues: [{name: ann, parent: " +
		"true}, {name: bob}]}, {name: old}]}]}," +
		" {name: gpu, queues: [{name: root, submitacl: '*', queues: [{name: b, parent: true, resources: {max: {gpu: 1}}}]}]}]"
	work := State{
		"default": {
			Leaf: map[string]bool{"root": false, "root.a": false, "root.a.ann": true, "root.a.bob": false, "root.old": false,
				"root.old.x": true},
			Applications: []Application{
				{"app-1", "root.a.ann", security.User{Name: "ann"}}, {"app-2", "root.old.x", security.User{Name: "zoe"}},
			},
		},
		"gpu": {
			Leaf: map[string]bool{"root": false, "root.b": true}, Allocated: map[string]amounts{"root.b": {"gpu": 3}},
			Applications: []Application{{"app-3", "root.b", security.User{Name: "ann"}}},
		},
	}
	p := Compute(load(t, old), load(t, new), work)
	assert.DeepEqual(t, p.RefusedChanges, []RefusedChange{
		{"default", "root.a.ann", "leaf", "parent", []string{"app-1"}},
		{"default", "root.old", "parent", "leaf", []string{"app-2"}}, // root.a.bob has no application
		{"gpu", "root.b", "leaf", "parent", []string{"app-3"}},
	})
	assert.DeepEqual(t, p.OverMax,
		[]QueueOverMax{{Partition: "gpu", Queue: "root.b", Resource: "gpu", Allocated: 3, Max: 1, By: 2}})
}

func TestCompute_OverMaxListsOwnMaxOnly(t *testing.T) {
	const text = "partitions: [{queues: [{name: root, submitacl: '*', queues: [{name: a, resources: {max: {vcore: 9}}, " +
		"queues: [{name: x}]}]}]}]"
	work := State{"default": {Allocated: map[string]amounts{"root.a": {"vcore": 8000}, "root.a.x": {"vcore": 8000}}}}
	p := Compute(load(t, text), load(t, strings.Replace(text, "9", "5", 1)), work)
	assert.DeepEqual(t, p.OverMax,
		[]QueueOverMax{{Partition: "default", Queue: "root.a", Resource: "vcore", Allocated: 8000, Max: 5000, By: 3000}})
}

func TestCompute_OverLimit(t *testing.T) {
	const old = "partitions: [{queues: [{name: root, submitacl: '*', limits: [{users: [ann], maxresources: {vcore: 9, " +
		"gpu: 1}}, {users: ['*'], maxapplications: 5}], queues: [{name: a}]}]}]"
	const new = "partitions: [{queues: [{name: root, submitacl: '*', limits: [{users: [ann], maxresources: {vcore: 5, " +
		"gpu: 1}}, {users: ['*'], maxapplications: 2}," +
		" {groups: [dev], maxapplications: 1}], queues: [{name: a, limits: [{users: [eve], maxapplications: 2, " +
		"maxresources: {vcore: 1}}]}]}]}]"
	work := State{"default": {Usage: []Usage{
		{Queue: "root", User: "eve", Resources: amounts{"vcore": 99_000}, Running: 3},
		{Queue: "root.a", User: "eve", Resources: amounts{"vcore": 1001, "gpu": 9}, Running: 2},
		{Queue: "root.a", User: "zoe", Resources: amounts{"vcore": 9000}, Running: 9},
		// the limit of gpu does not change
		{Queue: "root", User: "ann", Resources: amounts{"vcore": 5500, "gpu": 3}, Running: 9},
		{Queue: "root", Group: "dev", Resources: amounts{"vcore": 1}, Running: 2},
		{Queue: "root", Group: "ops", Running: 20},
	}}}
	p := Compute(load(t, old), load(t, new), work)
	assert.DeepEqual(t, p.OverLimit, []OverLimit{
		{"default", "root", "ann", "", "vcore", 5500, 5000, 500},
		{"default", "root", "eve", "", "applications", 3, 2, 1},
		{"default", "root", "", "dev", "applications", 2, 1, 1},
		{"default", "root.a", "eve", "", "vcore", 1001, 1000, 1},
	})
	assert.Equal(t, p.OverLimit[0].String(),
		"user ann is over the new limit in root by vcore 500m: 5500m used, and 5 allowed")
	assert.Equal(t, p.OverLimit[2].String(),
		"group dev is over the new limit in root by 1 application: 2 used, and 1 allowed")
	assert.Equal(t, len(Compute(load(t, new), load(t, new), work).OverLimit), 0)
}

func TestRefusedChange_TruncatesList(t *testing.T) {
	r := RefusedChange{Queue: "root.a", From: "leaf", To: "parent"}
	for i := range 12 {
		r.Applications = append(r.Applications, fmt.Sprint("a", i))
	}
	assert.Assert(t, strings.HasSuffix(r.String(), "a9 and 2 more"), r.String())
}

func TestCompute_OnePartition(t *testing.T) {
	p := Compute(load(t, oldYAML), load(t, newYAML), testState(), "gpu")
	assert.Equal(t, p.Summary, "1 queue changed")
	assert.Equal(t, len(p.RefusedChanges)+len(p.OverMax)+len(p.LostAccess), 0, "the allocated resources equal the new max")
}

func TestCompute_WithoutServerState(t *testing.T) {
	p := Compute(load(t, oldYAML), load(t, newYAML), nil)
	assert.Assert(t, p.Impact && !p.StateKnown)
	assert.Equal(t, len(p.RefusedChanges)+len(p.OverMax)+len(p.LostAccess), 0)
	text, err := json.Marshal(Compute(load(t, oldYAML), load(t, oldYAML), nil))
	assert.NilError(t, err)
	assert.Equal(t, string(text),
		`{"impact":false,"summary":"nothing changes","change":{"partitions":[]},"stateKnown":false,`+
			`"refused":[],"overMax":[],"overLimit":[],"overQuota":[],"lostAccess":[],"leaves":[],"warnings":[]}`)
}

// BenchmarkPlan loads two documents of 10,000 queues and compares them, for a server with
// 20,000 applications. The target is two seconds.
func BenchmarkPlan(b *testing.B) {
	var text strings.Builder
	text.WriteString("partitions:\n- queues:\n  - name: root\n    submitacl: '*'\n    queues:\n")
	work := &Partition{Allocated: map[string]amounts{}}
	for i := range 100 {
		fmt.Fprintf(&text, "    - name: t%d\n      submitacl: ' g%d'\n      queues:\n", i, i)
		for j := range 99 {
			fmt.Fprintf(&text,
				"      - {name: q%d, resources: {max: {vcore: 10, memory: 1Gi}, guaranteed: {vcore: 1}}, limits: [{users: [u%d], "+
					"maxapplications: 5}]}\n", j, j)
			path := fmt.Sprintf("root.t%d.q%d", i, j)
			work.Allocated[path] = amounts{"vcore": 10_000}
			for k := range 2 {
				work.Applications = append(work.Applications, Application{fmt.Sprint(path, k), path, security.User{Name: "u"}})
			}
		}
	}
	other := strings.ReplaceAll(text.String(), "vcore: 10,", "vcore: 9,")
	state := State{"default": work}
	for b.Loop() {
		p := Compute(load(b, text.String()), load(b, other), state)
		assert.Equal(b, len(p.OverMax), 9900)
	}
}
