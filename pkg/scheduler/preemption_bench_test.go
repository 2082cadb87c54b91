package scheduler_test

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// BenchmarkPreemption measures one preemption in a full cluster of 10,000 nodes and 100,000 allocations in
// 100 leaves, with the allocations of one leaf or of all eligible.
func BenchmarkPreemption(b *testing.B) {
	const nodes, perNode, leaves = 10_000, 10, 100
	for _, scope := range []policies.PriorityPreemption{policies.PriorityPreemptionLeaf,
		policies.PriorityPreemptionFence} {
		b.Run("scope="+scope.String(), func(b *testing.B) {
			root := configs.Queue{Name: "root", Parent: true, SubmitACL: security.Everyone(),
				Settings: configs.DefaultSettings()}
			for i := range leaves {
				leaf := configs.Queue{Name: fmt.Sprint("q", i), Settings: configs.DefaultSettings()}
				leaf.PriorityPreemption = scope
				root.Children = append(root.Children, leaf)
			}
			core := scheduler.New(configs.Partition{Name: "default", Root: root, PreemptionEnabled: true}, nil)
			apply := func(cmd scheduler.Command) { core.Step(epoch, cmd) }
			amounts := func(n resources.Quantity) resources.Amounts {
				return resources.FromMap(map[string]resources.Quantity{"vcore": n, "memory": n})
			}
			for i := range leaves {
				apply(scheduler.AddApplication{App: objects.AppID(fmt.Sprint("app-", i)), Queue: fmt.Sprint("root.q", i)})
			}
			for i := range nodes {
				node := objects.NodeID(fmt.Sprint("node-", i))
				apply(scheduler.AddNode{Node: node, Total: amounts(perNode), Schedulable: true})
				for j := range perNode {
					k := i*perNode + j
					apply(scheduler.ReportAllocation{Node: node, Ask: &objects.Ask{
						Key: objects.AllocationKey(fmt.Sprint("run-", k)), App: objects.AppID(fmt.Sprint("app-", k%leaves)),
						Amounts: amounts(1),
					}})
				}
			}
			n := 0
			for b.Loop() {
				key := objects.AllocationKey(fmt.Sprint("high-", n))
				app := objects.AppID(fmt.Sprint("app-", n%leaves))
				apply(scheduler.SubmitAsk{Ask: &objects.Ask{
					Key: key, App: app, Amounts: amounts(1), Priority: 100,
					Policy: objects.PolicySent | objects.PolicyAllowPreemptOther,
				}})
				effects, _ := core.Schedule(epoch, 1)
				assert.Equal(b, len(effects), 3) // two of them are internal
				victim := effects[0].(scheduler.Released)
				apply(scheduler.Release{App: victim.App, Key: victim.Key, Type: scheduler.PreemptedByScheduler})
				core.Schedule(epoch, 1) // places the ask
				n++
			}
		})
	}
}
