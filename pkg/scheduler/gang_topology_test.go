package scheduler_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/gangs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// GAN-30: a gang of one shape that requires one domain is placed exactly if a domain takes all of its members, which is
// counted node by node; then it is in one. Otherwise it waits, and nothing of it is placed.
func TestGangs_RequiredTopologyIsExact(t *testing.T) {
	placed, waited := 0, 0
	for seed := range uint64(testscale.Runs(600)) {
		rng := rand.New(rand.NewPCG(seed, 69))
		core := scheduler.New((&scenarioCore{queues: []scenarioQueue{{Path: "root.a"}}}).config(t), nil)
		size, members := int64(1+rng.IntN(3)), 1+rng.IntN(6)
		takes := map[string]int64{}
		racks := map[objects.NodeID]string{}
		for i := range 1 + rng.IntN(30) {
			id := objects.NodeID(fmt.Sprint("n", i))
			n := scheduler.AddNode{Node: id, Total: vcores(resources.Quantity(1 + rng.IntN(6))), Schedulable: rng.IntN(6) > 0}
			if rng.IntN(8) > 0 {
				racks[id] = fmt.Sprint("rack", rng.IntN(6))
				n.Attributes = map[string]string{"rack": racks[id]}
			}
			core.Step(epoch, n)
			var used int64
			if rng.IntN(3) == 0 {
				used = 1
				core.Step(epoch,
					scheduler.ReportForeign{Foreign: objects.Foreign{Key: objects.AllocationKey("f-" + id), Node: id,
						Amounts: vcores(1)}})
			}
			if racks[id] != "" && n.Schedulable {
				takes[racks[id]] += (int64(n.Total.Get("vcore")) - used) / size
			}
		}
		core.Step(epoch,
			scheduler.AddApplication{App: "gang", Queue: "root.a", User: security.User{Name: "ann"}, Gang: gangs.Spec{
				Timeout: time.Hour,
				Virtual: []gangs.VirtualGroup{{Name: "g", MinMember: members,
					Topology: gangs.Topology{Levels: []string{"rack"}, Preferred: gangs.NoLevel}}},
			}})
		for i := range members {
			core.Step(epoch, scheduler.SubmitAsk{Ask: &objects.Ask{
				Key: objects.AllocationKey(fmt.Sprint("g", i)), App: "gang", Amounts: vcores(resources.Quantity(size)),
				Details: &objects.AskDetails{TaskGroup: "g"},
			}})
		}
		effects, _ := core.Schedule(epoch, 100)
		assert.NilError(t, core.Check())
		in := map[string]int{}
		for _, e := range effects {
			if e, ok := e.(scheduler.Allocated); ok {
				in[racks[e.Node]]++
			}
		}
		var most int64
		for _, n := range takes {
			most = max(most, n)
		}
		if most < int64(members) {
			waited++
			assert.Equal(t, len(in), 0, "seed %d", seed)
			continue
		}
		placed++
		assert.Equal(t, len(in), 1, "seed %d: %v", seed, in)
		for rack, n := range in {
			assert.Assert(t, n == members && rack != "", "seed %d: %v", seed, in)
		}
	}
	assert.Assert(t, placed > 0 && waited > 0, "%d placed, %d waited", placed, waited)
}
