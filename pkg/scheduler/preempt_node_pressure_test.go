package scheduler_test

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// usageOnNode is an allocation with its usage of a scarce resource.
type usageOnNode struct {
	Key           string
	Priority      int32
	Used, Request int64
}

func (x usageOnNode) ask(resource string) *objects.Ask {
	return &objects.Ask{
		Key: objects.AllocationKey(x.Key), App: "app", Priority: x.Priority,
		Amounts: amountsFromMap(map[string]int64{resource: x.Request}),
		Details: &objects.AskDetails{Tags: map[string]string{objects.UsageTag: fmt.Sprintf(`{%q:"%d"}`, resource, x.Used)}},
	}
}

// pressureScenario is a scenario of node pressure.
type pressureScenario struct {
	scenarioHeader
	Given struct {
		Resource    string
		Allocations []usageOnNode
	}
	Expect struct{ EvictionOrder []objects.AllocationKey }
}

// runPressureScenario checks the eviction order of a node.
func runPressureScenario(t *testing.T, s pressureScenario) {
	st := &scenarioCore{queues: []scenarioQueue{{Path: "root.default"}}}
	st.core = scheduler.New(st.config(t), nil)
	st.mustApply(t,
		scheduler.AddNode{Node: "n", Total: amountsFromMap(map[string]int64{s.Given.Resource: 1000}), Schedulable: true})
	st.application(t, scenarioAsk{App: "app", Queue: "root.default"})
	for _, x := range s.Given.Allocations {
		st.mustApply(t, scheduler.ReportAllocation{Ask: x.ask(s.Given.Resource), Node: "n"})
	}
	var asks []*objects.Ask
	for w := range st.core.Snapshot(epoch).Nodes.At(0).Allocations.All() {
		asks = append(asks, w.Ask)
	}
	var order []objects.AllocationKey
	for _, c := range victim.EvictionOrder(asks, s.Given.Resource) {
		order = append(order, c.Ask.Key)
	}
	assert.Assert(t, len(order) > 1)
	assert.DeepEqual(t, order, s.Expect.EvictionOrder)
}

// The capacity of a node is set below what its allocations hold.
func TestNodePressure_VictimsOfAShrunkNode(t *testing.T) {
	const running = 8 // of 2 each; w1 requires the node, w7 has system priority
	for _, x := range []struct {
		what        string
		off         bool
		to          int64
		usage       map[string]string // reported before the node shrinks
		victims     []objects.AllocationKey
		thenTo      int64
		thenVictims []objects.AllocationKey
	}{
		{what: "no victims if node pressure is disabled", off: true, to: 4},
		{what: "no victims if all fit", to: 16},
		{what: "the lowest priority first", to: 13, victims: []objects.AllocationKey{"w0", "w2"}},
		{what: "usage above the request first", to: 13,
			usage:   map[string]string{"w6": `{"memory":"3"}`, "w5": `{"memory":"5"}`},
			victims: []objects.AllocationKey{"w5", "w6"}},
		{what: "a malformed usage does not count", to: 15, usage: map[string]string{"w6": "lots"},
			victims: []objects.AllocationKey{"w0"}},
		{what: "system priority last, a required node never", to: 2,
			victims: []objects.AllocationKey{"w0", "w2", "w3", "w4", "w5", "w6", "w7"}},
		{what: "no victims if they are not enough", to: 1},
		{what: "preempting allocations count as released", to: 13, victims: []objects.AllocationKey{"w0", "w2"},
			thenTo: 12, thenVictims: nil},
		{what: "further victims when it shrinks again", to: 13, victims: []objects.AllocationKey{"w0", "w2"},
			thenTo: 11, thenVictims: []objects.AllocationKey{"w3"}},
	} {
		t.Run(x.what, func(t *testing.T) {
			st := &scenarioCore{queues: []scenarioQueue{{Path: "root.default"}}}
			conf := st.config(t)
			conf.NodePressureEnabled, conf.NodePressureGrace = !x.off, 0
			st.core = scheduler.New(conf, nil)
			memory := func(n int64) scheduler.SetCapacity {
				return scheduler.SetCapacity{Node: "n", Total: amountsFromMap(map[string]int64{"memory": n})}
			}
			st.mustApply(t, scheduler.AddNode{Node: "n", Total: memory(2 * running).Total, Schedulable: true})
			st.application(t, scenarioAsk{App: "app", Queue: "root.default"})
			report := func(i int, usage string) []scheduler.Effect {
				ask := usageOnNode{Key: fmt.Sprint("w", i), Priority: int32(i), Request: 2, Used: 2}.ask("memory")
				ask.Tags()[objects.UsageTag] = usage
				if i == 1 {
					ask.Details.RequiredNode = "n"
				} else if i == 7 {
					ask.Priority = 2_000_000_000
				}
				return st.core.Step(epoch, scheduler.ReportAllocation{Ask: ask, Node: "n"})
			}
			for i := range running {
				report(i, "")
			}
			for key, usage := range x.usage {
				refused := len(report(int(key[1]-'0'), usage)) > 0
				assert.Equal(t, refused, usage == "lots")
			}
			assert.DeepEqual(t, victimKeys(t, st.core.Step(epoch, memory(x.to))), x.victims)
			all := st.core.Preemptions()
			assert.Equal(t, all.Total, uint64(min(len(x.victims), 1)))
			if all.Total > 0 {
				assert.Equal(t, all.Last[0].Reason, victim.ReasonNodePressure)
				assert.Equal(t, all.Last[0].Node, objects.NodeID("n"))
				assert.DeepEqual(t, all.Last[0].Shortfall, amountsFromMap(map[string]int64{"memory": 2*running - x.to}))
				assert.Equal(t, len(all.Last[0].Victims), len(x.victims))
			}
			if x.thenTo > 0 {
				assert.DeepEqual(t, victimKeys(t, st.core.Step(epoch, memory(x.thenTo))), x.thenVictims)
			}
			assert.NilError(t, st.core.Check())
		})
	}
}

// A refused capacity preempts nothing, also if the allocations held more than the capacity before node
// pressure was enabled.
func TestNodePressure_RefusedCapacityHasNoVictims(t *testing.T) {
	st := &scenarioCore{queues: []scenarioQueue{{Path: "root.default"}}}
	conf := st.config(t)
	st.core = scheduler.New(conf, nil)
	st.mustApply(t, scheduler.AddNode{Node: "n", Total: amountsFromMap(map[string]int64{"memory": 4}), Schedulable: true})
	st.application(t, scenarioAsk{App: "app", Queue: "root.default"})
	st.mustApply(t, scheduler.ReportAllocation{Ask: usageOnNode{Key: "w", Request: 4, Used: 4}.ask("memory"), Node: "n"})
	st.mustApply(t, scheduler.SetCapacity{Node: "n", Total: amountsFromMap(map[string]int64{"memory": 3})})
	conf.NodePressureEnabled = true
	st.mustApply(t, scheduler.UseConfig{Partition: conf})
	effects := st.core.Step(epoch, scheduler.SetCapacity{Node: "n", Total: amountsFromMap(map[string]int64{"memory": -1})})
	assert.Equal(t, len(effects), 1)
	assert.Assert(t, strings.HasPrefix(effects[0].String(), "refused capacity of node n: "), "%v", effects[0])
}

// victimKeys are the keys of the victims of node pressure.
func victimKeys(t *testing.T, effects []scheduler.Effect) (keys []objects.AllocationKey) {
	for _, e := range scheduler.WithoutEvents(effects) {
		r, ok := e.(scheduler.Released)
		assert.Assert(t, ok, "%v", e)
		assert.Equal(t, r.Type, scheduler.PreemptedByScheduler)
		assert.Equal(t, r.Message, "preempted (pressure): node n has less capacity than its allocations hold")
		keys = append(keys, r.Key)
	}
	return keys
}
