package webservice

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Each kind of inconsistent state, one at a time, and the checks that find it.
func TestHealthCheck_EveryInconsistencyIsFound(t *testing.T) {
	vcores := func(n resources.Quantity) resources.Amounts {
		return resources.FromMap(map[string]resources.Quantity{"vcore": n})
	}
	consistent := func() *scheduler.Snapshot {
		bound := &scheduler.AllocationView{Ask: &objects.Ask{Key: "k", App: "a", Amounts: vcores(2)}, Node: "n"}
		pending := &scheduler.AllocationView{Ask: &objects.Ask{Key: "w", App: "a", Amounts: vcores(2)}}
		return &scheduler.Snapshot{
			Capacity: vcores(10),
			Nodes: persistent.ListOf(&scheduler.NodeView{
				ID: "n", Total: vcores(10), Allocated: vcores(2), Occupied: vcores(1), Available: vcores(7),
				Allocations: persistent.ListOf(bound),
			}),
			Root: &scheduler.QueueView{Path: "root", Children: persistent.ListOf(&scheduler.QueueView{
				Path: "root.q",
				Applications: persistent.ListOf(&scheduler.ApplicationView{ID: "a",
					Allocations: persistent.ListOf(bound, pending)}),
			})},
		}
	}
	leaf := func(s *scheduler.Snapshot) *scheduler.QueueView { return s.Root.Children.At(0) }
	for _, c := range []struct {
		name    string
		corrupt func(*scheduler.Snapshot)
		want    []string // the descriptions of the checks that fail
		message string
	}{
		{"consistent state", func(*scheduler.Snapshot) {}, nil, ""},
		{"negative pending resources of a queue", func(s *scheduler.Snapshot) { leaf(s).Pending = vcores(-1) },
			[]string{"Check for negative resources in the partitions"}, "partition p: queue root.q has pending {vcore=-1}"},
		{"negative capacity of the partition", func(s *scheduler.Snapshot) { s.Capacity = vcores(-10) },
			[]string{"Check for negative resources in the partitions",
				"Check that the capacity of a partition is the sum of its nodes"},
			"partition p: capacity {vcore=-10}"},
		{"negative allocated resources of a node",
			func(s *scheduler.Snapshot) { s.Nodes.At(0).Allocated, s.Nodes.At(0).Available = vcores(-2), vcores(11) },
			[]string{"Check for negative resources in the nodes"}, "partition p: node n has allocated {vcore=-2}"},
		{"node that has shrunk", func(s *scheduler.Snapshot) {
			s.Capacity, s.Nodes.At(0).Total, s.Nodes.At(0).Available = vcores(1), vcores(1), vcores(-2)
		}, nil, ""},
		{"capacity without a node", func(s *scheduler.Snapshot) { s.Capacity = vcores(9) },
			[]string{"Check that the capacity of a partition is the sum of its nodes"},
			"partition p: its capacity is {vcore=9}, but its nodes have {vcore=10}"},
		{"wrong available resources of a node", func(s *scheduler.Snapshot) { s.Nodes.At(0).Available = vcores(6) },
			[]string{"Check that the capacity of a node is allocated, occupied or available"},
			"partition p: node n has {vcore=6} available, but should have {vcore=7}"},
		{"allocation unknown to its application", func(s *scheduler.Snapshot) {
			leaf(s).Applications.At(0).Allocations = persistent.List[scheduler.AllocationView]{}
		},
			[]string{"Check that every allocation on a node is known to its application"},
			"partition p: allocation k on node n is not known to application a"},
		{"allocation of another application", func(s *scheduler.Snapshot) { leaf(s).Applications.At(0).ID = "b" },
			[]string{"Check that every allocation on a node is known to its application"},
			"partition p: allocation k on node n is not known to application a"},
		{"allocation unknown to its node",
			func(s *scheduler.Snapshot) { s.Nodes.At(0).Allocations = persistent.List[scheduler.AllocationView]{} },
			[]string{"Check that every allocation of an application is known to its node"},
			"partition p: allocation k of application a is not known to node n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := &partitionHealth{name: "p", snap: consistent()}
			c.corrupt(x.snap)
			x.agree = agree(x.snap, nil)
			var failed []string
			message := ""
			for _, check := range checks {
				found := findings{partition: "p"}
				check.run(x, &found)
				if view := viewCheck(&check, &found); !view.Succeeded {
					failed = append(failed, view.Description)
					if message == "" {
						message = view.DiagnosisMessage
					}
				}
			}
			assert.DeepEqual(t, failed, c.want)
			assert.Equal(t, message, c.message)
		})
	}
}

// Queues in a cool-down are named in a warning: the check succeeds.
func TestHealthCheck_CoolDownsAreWarnings(t *testing.T) {
	found := findings{partition: "p"}
	queuesInCoolDown(&scheduler.Snapshot{CoolDowns: []preemption.CoolDown{{A: "root.a", B: "root.b",
		Until: time.Unix(0, 0)}}}, &found)
	assert.Equal(t, found.String(), "partition p: queues root.a and root.b until 1970-01-01T00:00:00Z")
	check := checks[len(checks)-2]
	assert.Assert(t, check.name == "Preemption cool-downs" && viewCheck(&check, &found).Succeeded)
}
