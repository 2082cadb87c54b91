package scheduler

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// fullPreemptionCore is a Core whose nodes are full of allocations of app-many, which asks of app-many may
// preempt, except for one allocation of app-few on every 40th node; app-few preempts in its own leaf only.
// preempt submits one more ask, which preempts and is placed.
func fullPreemptionCore(tb testing.TB, nodes, perNode int) (c *Core, preempt func(app objects.AppID, vcore int64)) {
	tb.Helper()
	many := configs.Queue{Name: "many", Settings: configs.DefaultSettings()}
	many.PriorityPreemption = policies.PriorityPreemptionFence
	few := configs.Queue{Name: "few", Settings: configs.DefaultSettings()}
	few.PriorityPreemption = policies.PriorityPreemptionLeaf
	c = New(configs.Partition{Name: "default", PreemptionEnabled: true, Root: configs.Queue{
		Name: "root", Parent: true, SubmitACL: security.Everyone(), Settings: configs.DefaultSettings(),
		Children: []configs.Queue{many, few},
	}}, nil)
	now, n := time.Unix(1_000_000_000, 0), 0
	c.Step(now, AddApplication{App: "app-many", Queue: "root.many"})
	c.Step(now, AddApplication{App: "app-few", Queue: "root.few"})
	for i := range nodes {
		node := objects.NodeID(fmt.Sprintf("n%05d", i))
		c.Step(now, AddNode{Node: node, Total: amounts(int64(perNode)*1000, int64(perNode)<<30), Schedulable: true})
		for j := range perNode {
			app := objects.AppID("app-many")
			if i%40 == 0 && j == 0 {
				app = "app-few"
			}
			c.Step(now, ReportAllocation{Node: node, Ask: &objects.Ask{
				Key: objects.AllocationKey(fmt.Sprint("run-", i, "-", j)), App: app, Amounts: amounts(1000, 1<<30),
			}})
		}
	}
	return c, func(app objects.AppID, vcore int64) {
		n++
		c.Step(now, SubmitAsk{Ask: &objects.Ask{
			Key: objects.AllocationKey(fmt.Sprint("high-", n)), App: app, Amounts: amounts(vcore, 1<<30), Priority: 100,
			Policy: objects.PolicySent | objects.PolicyAllowPreemptOther,
		}})
		effects, _ := c.Schedule(now, 1)
		assert.Equal(tb, len(WithoutEvents(effects)), 1)
		victim := effects[0].(Released)
		c.Step(now, Release{App: victim.App, Key: victim.Key, Type: PreemptedByScheduler})
		effects, _ = c.Schedule(now, 1)
		assert.Equal(tb, len(WithoutEvents(effects)), 1)
	}
}

// A search ranks only the nodes that have changed, and tries no more nodes than it compares (PRE-99).
func TestVictimSearch_RanksOnlyChangedNodes(t *testing.T) {
	for _, nodes := range []int{200, 5000} {
		c, preempt := fullPreemptionCore(t, nodes, 10)
		assert.Equal(t, c.PreemptionSearchStats().Searches, uint64(0), "there was no search")
		preempt("app-many", 1000)
		first := c.PreemptionSearchStats()
		assert.Equal(t, first.NodesRanked, uint64(nodes), "the first search ranks all nodes")
		for range 50 {
			preempt("app-many", 1000)
		}
		later := c.PreemptionSearchStats()
		assert.Equal(t, later.Searches-first.Searches, uint64(50))
		assert.Equal(t, later.NodesRanked-first.NodesRanked, uint64(50), "of %d nodes one changed before each search", nodes)
		assert.Equal(t, later.NodesTried-first.NodesTried, uint64(50*100), "of %d nodes", nodes)
		preempt("app-many", 999)
		assert.Equal(t, c.PreemptionSearchStats().NodesRanked-later.NodesRanked, uint64(nodes),
			"another kind of ask has its own ranking")
		preempt("app-many", 1000)
		assert.Equal(t, c.PreemptionSearchStats().NodesRanked-later.NodesRanked, uint64(nodes)+2,
			"the first ranking is kept; two nodes have changed")
	}
}

// Where few nodes have allocations in scope only these are tried (PRE-100).
func TestVictimSearch_ListsFewNodesInScope(t *testing.T) {
	c, preempt := fullPreemptionCore(t, 200, 10)
	preempt("app-few", 1000)
	e := c.PreemptionSearchStats()
	assert.Equal(t, e.NodesListed, uint64(5), "one on every 40th of 200 nodes")
	assert.Equal(t, e.NodesTried, uint64(5))
	preempt("app-many", 1000)
	assert.Equal(t, c.PreemptionSearchStats().NodesListed, e.NodesListed, "too many nodes to list")
}

// A preemption makes few heap allocations, whatever the number of nodes and allocations: the ask, the
// effects, the release and the placement included (PRE-101): 80, and a few more with the race detector.
func TestVictimSearch_AllocatesLittle(t *testing.T) {
	for _, size := range []struct{ nodes, perNode int }{{200, 10}, {5000, 10}, {200, 100}} {
		_, preempt := fullPreemptionCore(t, size.nodes, size.perNode)
		for range 10 {
			preempt("app-many", 1000)
		}
		got := testing.AllocsPerRun(50, func() { preempt("app-many", 1000) })
		t.Logf("%d nodes with %d allocations each: %.0f heap allocations", size.nodes, size.perNode, got)
		assert.Assert(t, got <= 88, "%.0f heap allocations with %d nodes of %d allocations", got, size.nodes, size.perNode)
	}
}

// Each kind of ask has its own ranking. The memory of forgotten rankings is used again.
func TestVictimSearch_RankingsReuseMemory(t *testing.T) {
	_, preempt := fullPreemptionCore(t, 5000, 2)
	size := int64(1000)
	for range 140 {
		size--
		preempt("app-many", size)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const searches = 100
	for range searches {
		size--
		preempt("app-many", size)
	}
	runtime.ReadMemStats(&after)
	each := (after.TotalAlloc - before.TotalAlloc) / searches
	t.Logf("%d bytes each", each)
	assert.Assert(t, each < 65_536, "%d bytes each, and a ranking of 5,000 nodes has 131,072", each)
}

// BenchmarkVictimSearch_NoPlan measures the most expensive search: every node would be feasible without its
// allocations, and a guarantee protects all of them, so each of 10,000 nodes is tried.
func BenchmarkVictimSearch_NoPlan(b *testing.B) {
	const nodes, perNode = 10_000, 10
	protected := configs.Queue{Name: "protected", Settings: configs.DefaultSettings()}
	all := resources.Quantity(nodes * perNode * 1000)
	protected.Guaranteed = resources.GuaranteeFromMap(map[string]resources.Quantity{"vcore": all})
	asking := configs.Queue{Name: "asking", Settings: configs.DefaultSettings()}
	asking.PriorityPreemption = policies.PriorityPreemptionFence
	c := New(configs.Partition{Name: "default", PreemptionEnabled: true, Root: configs.Queue{
		Name: "root", Parent: true, SubmitACL: security.Everyone(), Settings: configs.DefaultSettings(),
		Children: []configs.Queue{protected, asking},
	}}, nil)
	now := time.Unix(1_000_000_000, 0)
	c.Step(now, AddApplication{App: "protected", Queue: "root.protected"})
	c.Step(now, AddApplication{App: "asking", Queue: "root.asking"})
	for i := range nodes {
		node := objects.NodeID(fmt.Sprintf("n%05d", i))
		c.Step(now, AddNode{Node: node, Total: amounts(perNode*1000, perNode<<30), Schedulable: true})
		for j := range perNode {
			c.Step(now, ReportAllocation{Node: node, Ask: &objects.Ask{
				Key: objects.AllocationKey(fmt.Sprint("run-", i, "-", j)), App: "protected", Amounts: amounts(1000, 1<<30),
			}})
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		c.Step(now, SubmitAsk{Ask: &objects.Ask{
			Key: "high", App: "asking", Amounts: amounts(1000, 1<<30), Priority: 100,
			Policy: objects.PolicySent | objects.PolicyAllowPreemptOther,
		}})
		effects, _ := c.Schedule(now, 1)
		assert.Equal(b, len(effects), 0)
		c.Step(now, Release{App: "asking", Key: "high", Type: StoppedByRM})
	}
	e := c.PreemptionSearchStats()
	b.ReportMetric(float64(e.NodesTried)/float64(e.Searches), "nodes/look")
}
