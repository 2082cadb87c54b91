package sim_test

import (
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/sim"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// idleSnapshot returns a small idle cluster: k1 and the placeholder k2 are allocated, the max of its queue
// blocks k3, and k4 fits on no node; a foreign allocation uses part of a node.
func idleSnapshot(t *testing.T) *scheduler.Snapshot {
	t.Helper()
	conf, problems := queuesyaml.Load([]byte(twoQueues))
	assert.Assert(t, !problems.HasErrors(), "%v", problems)
	core := scheduler.New(conf.Partitions[0], nil)
	now := time.Unix(1, 0)
	step := func(cmd scheduler.Command) {
		for _, e := range core.Step(now, cmd) {
			switch e.(type) {
			case scheduler.AskRejected, scheduler.NodeRejected, scheduler.ApplicationRejected, scheduler.Refused:
				t.Fatal(e)
			}
		}
	}
	submit := func(key, app string, vcore resources.Quantity, priority int32, group string) {
		step(scheduler.SubmitAsk{Ask: &objects.Ask{
			Key: objects.AllocationKey(key), App: objects.AppID(app), Amounts: amounts(vcore, 1), Priority: priority,
			Details: objects.NewAskDetails(objects.AskDetails{TaskGroup: group}), Placeholder: group != "",
		}})
	}
	step(scheduler.AddNode{Node: "n1", Total: amounts(6000, 20), Schedulable: true})
	step(scheduler.AddNode{Node: "n2", Total: amounts(6000, 20)})
	step(scheduler.ReportForeign{Foreign: objects.Foreign{Key: "daemon", Node: "n1", Amounts: amounts(1000, 1)}})
	step(scheduler.AddApplication{App: "app-a", Queue: "root.a"})
	step(scheduler.AddApplication{App: "app-b", Queue: "root.b"})
	submit("k1", "app-a", 2000, 9, "")
	submit("k2", "app-b", 1000, 8, "gang")
	submit("k3", "app-a", 1500, 3, "")
	submit("k4", "app-b", 2500, 7, "")
	core.Schedule(now, 100)
	return core.Snapshot(now)
}

func TestAudit_AcceptsCorrectSnapshot(t *testing.T) {
	assert.NilError(t, sim.Audit(idleSnapshot(t)))
}

// Each case breaks one thing in a correct snapshot.
func TestAudit_FindsErrors(t *testing.T) {
	type snapshot = scheduler.Snapshot
	queue := func(s *snapshot, i int) *scheduler.QueueView { return s.Root.Children.At(i) }
	app := func(s *snapshot, i int) *scheduler.ApplicationView { return s.Root.Children.At(i).Applications.At(0) }
	cases := []struct {
		name  string
		spoil func(s *snapshot)
		want  string
	}{
		{"wrong allocated resources of a queue", func(s *snapshot) { queue(s, 0).Allocated = amounts(2001, 1) },
			"queue root.a says {memory=1 vcore=2001} is allocated, the sum is {memory=1 vcore=2000}"},
		{"wrong pending resources of root", func(s *snapshot) { s.Root.Pending = amounts(1, 1) },
			"queue root says {memory=1 vcore=1} is pending, the sum is {memory=2 vcore=4000}"},
		{"a stale current priority", func(s *snapshot) { queue(s, 0).Priority = policies.Pending(3) },
			"queue root.a says its priority is 3, its asks have 8"},
		{"an application priority without an ask", func(s *snapshot) { app(s, 1).Priority = policies.Pending(99) },
			"application app-b says its priority is 99, its asks have 7"},
		{"wrong allocated resources of an application", func(s *snapshot) { app(s, 0).Allocated = amounts(1, 1) },
			"application app-a says {memory=1 vcore=1} and {} of placeholders are allocated, the sum is " +
				"{memory=1 vcore=2000} in all"},
		{"a placeholder counted as an allocation", func(s *snapshot) {
			app(s, 1).Allocated, app(s, 1).Placeholders = app(s, 1).Placeholders, app(s, 1).Allocated
		}, "application app-b says {memory=1 vcore=1000} and {} of placeholders are allocated, the " +
			"sum is {memory=1 vcore=1000} in all"},
		{"wrong pending resources of an application", func(s *snapshot) { app(s, 1).Pending = amounts(9, 9) },
			"application app-b says {memory=9 vcore=9} is pending, the sum is {memory=1 vcore=2500}"},
		{"wrong allocated resources of a node", func(s *snapshot) { s.Nodes.At(0).Allocated = amounts(1, 1) },
			"node n1 says {memory=1 vcore=1} is allocated, the sum is {memory=2 vcore=3000}, its " +
				"applications {memory=2 vcore=3000}"},
		{"an allocation missing on its node", func(s *snapshot) {
			s.Nodes.At(0).Allocations, s.Nodes.At(0).Allocated = persistent.ListOf(s.Nodes.At(0).Allocations.At(0)),
				amounts(2000, 1)
		}, "node n1 says {memory=1 vcore=2000} is allocated, the sum is {memory=1 vcore=2000}, its " +
			"applications {memory=2 vcore=3000}"},
		{"an allocation on another node than its application has", func(s *snapshot) {
			work := slices.Collect(app(s, 0).Allocations.All())
			onOtherNode := *work[0] // the node has the other one
			onOtherNode.Node, work[0] = "n2", &onOtherNode
			app(s, 0).Allocations = persistent.ListOf(work...)
		},
			`node n1 has allocation k1, its application says node "n2"`},
		{"a missing foreign allocation", func(s *snapshot) { s.Nodes.At(0).Foreign = nil },
			"node n1 says {memory=1 vcore=1000} is occupied, its foreign allocations have {}"},
		{"wrong available resources of a node", func(s *snapshot) { s.Nodes.At(0).Available = amounts(9000, 9) },
			"node n1 says {memory=9 vcore=9000} is available, {memory=17 vcore=2000} is left"},
		{"a node above its capacity", func(s *snapshot) {
			s.Nodes.At(0).Total, s.Nodes.At(0).Available = amounts(3000, 20), amounts(-1000, 17)
		}, "node n1 has {memory=20 vcore=3000} and holds more: {memory=17 vcore=-1000} is left"},
		{"a wrong capacity of the cluster", func(s *snapshot) { s.Capacity = amounts(1, 1) },
			"the cluster says it has {memory=1 vcore=1}, its nodes say {memory=40 vcore=12000}"},
		{"a wrong count of asks", func(s *snapshot) { s.Asks = 7 },
			"the partition counts [2 7 2] applications, asks and allocations, there are [2 2 2]"},
		{"a queue above its max", func(s *snapshot) {
			queue(s, 0).Max = resources.LimitFromMap(map[string]resources.Quantity{"vcore": 1000})
		}, "queue root.a may hold ≤{vcore=1000}, and {memory=1 vcore=2000} is allocated"},
		{"a pending ask within a max", func(s *snapshot) {
			queue(s, 0).Max = resources.LimitFromMap(map[string]resources.Quantity{"vcore": 3500})
		}, "ask k3 of queue root.a is pending, and node n1 has space for it: {memory=1 vcore=1500} of " +
			"{memory=17 vcore=2000}"},
		{"a pending ask that fits on a node", func(s *snapshot) { s.Nodes.At(1).Schedulable = true },
			"ask k4 of queue root.b is pending, and node n2 has space for it: {memory=1 vcore=2500} of " +
				"{memory=20 vcore=6000}"},
	}
	for _, x := range cases {
		t.Run(x.name, func(t *testing.T) {
			s := idleSnapshot(t)
			x.spoil(s)
			assert.Error(t, sim.Audit(s), x.want)
		})
	}
}

// In a StateAware leaf a feasible ask may be pending.
func TestAudit_AllowsStateAwareToWait(t *testing.T) {
	s := idleSnapshot(t)
	s.Nodes.At(1).Schedulable = true
	s.Root.Children.At(1).Settings.AppSort = policies.StateAware
	assert.NilError(t, sim.Audit(s))
}

// An ask with a required node is not feasible on another.
func TestAudit_RespectsRequiredNodes(t *testing.T) {
	s := idleSnapshot(t)
	s.Nodes.At(1).Schedulable = true
	waiting := s.Root.Children.At(1).Applications.At(0).Allocations.At(1)
	picky := *waiting.Ask
	picky.Details = &objects.AskDetails{RequiredNode: "n1"}
	waiting.Ask = &picky
	assert.NilError(t, sim.Audit(s))
}
