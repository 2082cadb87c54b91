package scheduler_test

import (
	"fmt"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// BenchmarkDryRun measures a dry run in a full cluster of 10,000 nodes and 100,000 allocations: of an ask
// with a plan, and of one for which a guarantee protects all allocations of every node.
func BenchmarkDryRun(b *testing.B) {
	const nodes, perNode = 10_000, 10
	leaf := configs.Queue{Name: "a", Settings: configs.DefaultSettings()}
	leaf.PriorityPreemption = policies.PriorityPreemptionFence
	protected := configs.Queue{Name: "protected", Settings: configs.DefaultSettings()}
	protected.Guaranteed = resources.GuaranteeFromMap(map[string]resources.Quantity{"vcore": nodes * perNode})
	core := scheduler.New(configs.Partition{Name: "default", PreemptionEnabled: true, Root: configs.Queue{
		Name: "root", Parent: true, SubmitACL: security.Everyone(), Settings: configs.DefaultSettings(),
		Children: []configs.Queue{leaf, protected},
	}}, nil)
	apply := func(cmd scheduler.Command) { core.Step(epoch, cmd) }
	apply(scheduler.AddApplication{App: "x", Queue: "root.protected", User: security.User{Name: "ann"}})
	for i := range nodes {
		node := objects.NodeID(fmt.Sprint("node-", i))
		apply(scheduler.AddNode{Node: node, Total: vcores(perNode), Schedulable: true})
		for j := range perNode {
			apply(scheduler.ReportAllocation{Node: node, Ask: &objects.Ask{
				Key: objects.AllocationKey(fmt.Sprint("run-", i, "-", j)), App: "x", Amounts: vcores(1), Priority: int32(j),
			}})
		}
	}
	h := scheduler.DryRunRequest{Ask: &objects.Ask{
		Key: "new", App: "new", Amounts: vcores(2), Priority: 100,
		Policy: objects.PolicySent | objects.PolicyAllowPreemptOther,
	}, Applicant: objects.HypotheticalOwner{User: security.User{Name: "ann"}, Queue: "root.a"}}
	for _, guaranteed := range []bool{true, false} {
		b.Run(fmt.Sprint("guaranteed=", guaranteed), func(b *testing.B) {
			conf := core.Partition().Config()
			conf.Root.Children = slices.Clone(conf.Root.Children) // configurations in force are immutable
			conf.Root.Children[1].Guaranteed = protected.Guaranteed
			if !guaranteed {
				conf.Root.Children[1].Guaranteed = resources.Guarantee{}
			}
			apply(scheduler.UseConfig{Partition: conf})
			for b.Loop() {
				got, err := core.DryRun(h, epoch)
				assert.NilError(b, err)
				assert.Equal(b, got.Outcome == scheduler.WouldPreempt, !guaranteed)
			}
		})
	}
}
