package scheduler_test

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/gangs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// benchCluster is a Core with nodes of four vcores, of which so many are used on each.
func benchCluster(b *testing.B, nodes int, used resources.Quantity) *scheduler.Core {
	conf := (&scenarioCore{queues: []scenarioQueue{{Path: "root.a"}}}).config(b)
	conf.PreemptionEnabled, conf.Reservation.Enabled = false, false
	core := scheduler.New(conf, nil)
	core.Step(epoch, scheduler.AddApplication{App: "other", Queue: "root.a", User: security.User{Name: "ann"}})
	for i := range nodes {
		id := objects.NodeID(fmt.Sprintf("n%05d", i))
		core.Step(epoch,
			scheduler.AddNode{Node: id, Total: vcores(4), Schedulable: true,
				Attributes: map[string]string{"rack": fmt.Sprint(i / 40)}})
		if used > 0 {
			core.Step(epoch,
				scheduler.ReportAllocation{Ask: &objects.Ask{Key: objects.AllocationKey("run-" + id), App: "other",
					Amounts: vcores(used)}, Node: id})
		}
	}
	core.Schedule(epoch, 1)
	return core
}

// addGang submits a gang of so many members of two vcores.
func addGang(core *scheduler.Core, id objects.AppID, members int) {
	addGangIn(core, id, members, gangs.Topology{})
}

// addGangIn is addGang with a topology.
func addGangIn(core *scheduler.Core, id objects.AppID, members int, topology gangs.Topology) {
	core.Step(epoch, scheduler.AddApplication{
		App: id, Queue: "root.a", User: security.User{Name: "ann"},
		Gang: gangs.Spec{Virtual: []gangs.VirtualGroup{{Name: "g", MinMember: members, Topology: topology}}},
	})
	for i := range members {
		core.Step(epoch, scheduler.SubmitAsk{Ask: &objects.Ask{
			Key: objects.AllocationKey(fmt.Sprintf("%s-%d", id, i)), App: id, Amounts: vcores(2),
			Details: &objects.AskDetails{TaskGroup: "g"},
		}})
	}
}

// A gang is placed, in the time of one run of decisions.
func BenchmarkGang_Place(b *testing.B) {
	for _, members := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(members), func(b *testing.B) {
			core := benchCluster(b, 10_000, 0)
			for b.Loop() {
				b.StopTimer()
				addGang(core, "gang", members)
				b.StartTimer()
				effects, _ := core.Schedule(epoch, 1)
				b.StopTimer()
				assert.Assert(b, len(effects) >= members)
				core.Step(epoch, scheduler.RemoveApplication{App: "gang"})
				core.Schedule(epoch, 1)
				b.StartTimer()
			}
		})
	}
}

// Gangs wait that the free nodes cannot take together, although the cluster as a whole has enough: each is tried in
// every run. The cluster has 10,000 nodes, and so many of these have enough for one member.
func BenchmarkGang_Refused(b *testing.B) {
	for _, c := range []struct{ gangs, free int }{{0, 0}, {1, 0}, {100, 0}, {1, 9}, {100, 9}} {
		b.Run(fmt.Sprintf("%d-gangs-%d-free", c.gangs, c.free), func(b *testing.B) {
			core := benchCluster(b, 10_000, 3) // one vcore is free on each
			for i := range c.free {
				core.Step(epoch, scheduler.Release{App: "other", Key: objects.AllocationKey(fmt.Sprintf("run-n%05d", i))})
			}
			for i := range c.gangs {
				addGang(core, objects.AppID(fmt.Sprint("gang", i)), 20)
			}
			core.Schedule(epoch, 1)
			for b.Loop() {
				core.Step(epoch, scheduler.Wake{})
				effects, _ := core.Schedule(epoch, 1)
				assert.Assert(b, len(effects) == 0)
			}
		})
	}
}

// Gangs wait that each of the 250 racks could take by the sum of what its nodes have free, and none takes: in each rack
// one node is empty, and the others have one vcore each. In each run nothing changes, or one node.
func BenchmarkGang_RefusedInRacks(b *testing.B) {
	for _, c := range []struct {
		gangs  int
		change bool
	}{{1, false}, {1, true}, {100, false}, {100, true}} {
		b.Run(fmt.Sprintf("%d-gangs-change-%t", c.gangs, c.change), func(b *testing.B) {
			core := benchCluster(b, 10_000, 3)
			for i := range 250 {
				core.Step(epoch, scheduler.Release{App: "other", Key: objects.AllocationKey(fmt.Sprintf("run-n%05d", 40*i))})
			}
			for i := range c.gangs {
				addGangIn(core, objects.AppID(fmt.Sprint("gang", i)), 20,
					gangs.Topology{Levels: []string{"rack"}, Preferred: gangs.NoLevel})
			}
			core.Schedule(epoch, 1)
			for b.Loop() {
				if c.change {
					core.Step(epoch, scheduler.ReportForeign{Foreign: objects.Foreign{Key: "f", Node: "n00001", Amounts: vcores(1)}})
					core.Step(epoch, scheduler.ReleaseForeign{Key: "f"})
				}
				core.Step(epoch, scheduler.Wake{})
				effects, _ := core.Schedule(epoch, 1)
				assert.Assert(b, len(effects) == 0)
			}
		})
	}
}
