package victim_test

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/preemption/fairshare"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// The first search on 10,000 nodes with 100,000 allocations, and the first after a node was added.
func BenchmarkSearch_First(b *testing.B) {
	root := configs.Queue{Name: "root", Parent: true, SubmitACL: security.Everyone(), Settings: configs.DefaultSettings()}
	for i := range 100 {
		leaf := configs.Queue{Name: fmt.Sprint("q", i), Settings: configs.DefaultSettings()}
		leaf.PriorityPreemption = policies.PriorityPreemptionFence
		root.Children = append(root.Children, leaf)
	}
	p := objects.NewPartition(configs.Partition{Name: "default", Root: root, PreemptionEnabled: true})
	amounts := func(n resources.Quantity) resources.Amounts {
		return resources.FromMap(map[string]resources.Quantity{"vcore": n, "memory": n})
	}
	for i := range 100 {
		assert.NilError(b,
			p.AddApplication(objects.AppID(fmt.Sprint("app-", i)), security.User{Name: "ann"},
				objects.QueuePath(fmt.Sprint("root.q", i)), nil, epoch))
	}
	node := func(i int) objects.NodeID { return objects.NodeID(fmt.Sprint("node-", i)) }
	for i := range 10_000 {
		assert.NilError(b, p.AddNode(node(i), amounts(10), nil, true))
		for j := range 10 {
			k := i*10 + j
			_, err := p.AddReported(&objects.Ask{Key: objects.AllocationKey(fmt.Sprint("run-", k)),
				App: objects.AppID(fmt.Sprint("app-", k*7%100)), Amounts: amounts(1), Priority: int32(k % 3)}, node(i), epoch)
			assert.NilError(b, err)
		}
	}
	x, err := p.AddAsk(&objects.Ask{Key: "high", App: "app-0", Amounts: amounts(1), Priority: 100,
		Policy: objects.PolicySent | objects.PolicyAllowPreemptOther}, epoch)
	assert.NilError(b, err)
	b.Run("of a new Search", func(b *testing.B) {
		for b.Loop() {
			_, ok := victim.NewSearch(fairshare.New(p), 0, nil).Find(x, victim.ReasonPriority, nil)
			assert.Assert(b, ok)
		}
	})
	b.Run("after a node was added", func(b *testing.B) {
		s := victim.NewSearch(fairshare.New(p), 0, nil)
		for n := 0; b.Loop(); n++ {
			assert.NilError(b, p.AddNode(node(10_000+n), amounts(0), nil, true))
			_, ok := s.Find(x, victim.ReasonPriority, nil)
			assert.Assert(b, ok)
		}
	})
}
