package demo

import (
	"cmp"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWorkload_HasRequestedSize(t *testing.T) {
	for _, size := range []Size{
		{Nodes: 1, Queues: MinQueues, Asks: 1},
		{Nodes: 1, Queues: 2000, Asks: 10, Seed: 3},
		{Nodes: 100, Queues: 40, Asks: 5000, Seed: 1},
		{Nodes: 7, Queues: 11, Asks: 3000, Seed: 1 << 63},
	} {
		t.Run(fmt.Sprintf("%+v", size), func(t *testing.T) {
			w := NewWorkload(size)
			conf, problems := queuesyaml.Load([]byte(w.Config))
			assert.Equal(t, len(problems), 0, "%v", problems)
			queues := 0
			for _, tenant := range conf.Partitions[0].Root.Children {
				queues += 1 + len(tenant.Children)
				assert.Assert(t, len(tenant.Children) > 0)
			}
			assert.Equal(t, queues, size.Queues)
			asks := 0
			for _, wave := range w.Waves {
				asks += len(wave)
			}
			assert.Equal(t, asks, size.Asks)
			assert.Equal(t, len(w.Nodes), size.Nodes)
			assert.Assert(t, reflect.DeepEqual(w, NewWorkload(size)), "the same each time")
		})
	}
}

func TestWorkload_ConfigIsTheExample(t *testing.T) {
	example, err := os.ReadFile("../../../examples/demo.yaml")
	assert.NilError(t, err)
	w := NewWorkload(Size{Nodes: 100, Queues: 40, Asks: 5000, Seed: 1})
	assert.Equal(t, w.Config, string(example), "canopy demo without flags; copy the one to the other")
}

func TestRun_PlacesAllAsks(t *testing.T) {
	var phases []string
	w := NewWorkload(Size{Nodes: 4, Queues: 9, Asks: 400, Seed: 5})
	r, err := Run(w, func(phase string) { phases = append(phases, phase) })
	assert.NilError(t, err)
	assert.Equal(t, r.Nodes, 4)
	assert.Equal(t, r.Applications, len(w.Applications))
	assert.Equal(t, r.Asks, 400)
	assert.Equal(t, r.Allocated, 400)
	assert.Equal(t, r.Pending+r.Rejected+r.Preempted, 0)
	assert.Assert(t, r.Took > 0)
	assert.Equal(t, phases[0], fmt.Sprintf("4 nodes and %d applications accepted", r.Applications))
	assert.Equal(t, len(phases), 1+len(r.Steps))

	ended, waiting, before := 0, 0, 0
	for i, s := range r.Steps {
		assert.Equal(t, s.Second, int64(i)*60)
		assert.Equal(t, s.Ended, (before+1)/2)
		assert.Equal(t, s.Running, before-s.Ended+s.Placed)
		waiting += s.Submitted - s.Placed
		assert.Equal(t, s.Waiting, waiting)
		ended, before = ended+s.Ended, s.Running
	}
	last := r.Steps[len(r.Steps)-1]
	assert.Equal(t, last.Wave+last.Waiting, 0)
	assert.Equal(t, r.Released, ended)
	assert.Equal(t, last.Running, r.Allocated-r.Released)
	assert.Equal(t, int(r.AllocatedResources[pods]), last.Running)

	full := r.Full
	assert.Equal(t, full.Wave, len(w.Waves))
	assert.Assert(t, full.Waiting > 0, "the workload must exceed the cluster")
	assert.Equal(t, len(full.Queues), 10)
	assert.DeepEqual(t, full.Queues[0].Allocated, full.AllocatedResources)
	assert.Equal(t, full.TopPending.State, scheduler.KeyPending)
}

// All asks of a wave are known before its first placement: no ask is pending while an ask of lower priority of its
// application and of the same size is placed.
func TestRun_WholeWaveIsKnownBeforeDecisions(t *testing.T) {
	w := NewWorkload(Size{Nodes: 80, Queues: MinQueues, Asks: 3500, Seed: 1})
	wave := slices.Concat(w.Waves...)
	slices.SortFunc(wave, func(a, b *objects.Ask) int { return cmp.Compare(a.Priority, b.Priority) }) // the worst order
	c, err := newCluster(w.Config)
	assert.NilError(t, err)
	r := run{cluster: c, progress: func(string) {}}
	assert.NilError(t, r.add(w.Nodes, w.Applications))
	assert.NilError(t, r.step(1, wave))
	assert.Assert(t, len(r.pending) > 500 && len(r.running) > 500, "%d wait and %d run", len(r.pending), len(r.running))
	least := map[string]int32{}
	what := func(a *objects.Ask) string { return fmt.Sprint(a.App, a.Amounts) }
	for _, x := range r.running {
		if n, known := least[what(x.Ask)]; !known || x.Ask.Priority < n {
			least[what(x.Ask)] = x.Ask.Priority
		}
	}
	for _, a := range r.pending {
		n, known := least[what(a)]
		assert.Assert(t, !known || a.Priority <= n, "%s of priority %d waits, and one like it of %d runs", a.Key,
			a.Priority, n)
	}
}

// In this run an ask waits although a node has space for it: the node is reserved for another ask.
func TestRun_ReservedNodeHasNoSpaceForOthers(t *testing.T) {
	r, err := Run(NewWorkload(Size{Nodes: 1, Queues: 25, Asks: 762, Seed: 14641778961415536706}), func(string) {})
	assert.NilError(t, err)
	assert.Equal(t, r.Allocated, 762)
}

// smallCluster is a cluster of one node with an allocation, and an ask that does not fit.
func smallCluster(t *testing.T) *cluster {
	t.Helper()
	c, err := newCluster(PreemptionConfig)
	assert.NilError(t, err)
	assert.NilError(t, c.add([]scheduler.AddNode{{Node: "n", Total: coresOf(2), Schedulable: true}},
		[]scheduler.AddApplication{{App: "a", Queue: "root.shared"}}))
	assert.NilError(t, c.submit([]*objects.Ask{
		{Key: "runs", App: "a", Amounts: coresOf(1), Priority: 1}, {Key: "waits", App: "a", Amounts: coresOf(2)},
	}))
	assert.NilError(t, c.check())
	return c
}

// A scheduler that decides wrongly, or an account that differs from its own, ends the demo.
func TestCluster_CheckFindsErrors(t *testing.T) {
	for _, x := range []struct {
		name string
		do   func(c *cluster)
		want string
	}{
		{"an allocation is lost", func(c *cluster) { delete(c.running, "runs") },
			"the scheduler counts 1 asks and 1 allocations, the resource manager 1 and 0"},
		{"an ask is lost", func(c *cluster) { delete(c.pending, "waits") },
			"the scheduler counts 1 asks and 1 allocations, the resource manager 0 and 1"},
		{"an allocation is on another node",
			func(c *cluster) { c.running["runs"] = scheduler.Binding{Ask: c.running["runs"].Ask, Node: "m"} },
			`runs runs on node n, and was placed on "m"`},
		{"an ask could be placed", func(c *cluster) { assert.NilError(t, c.end("runs")) },
			"ask waits of queue root.shared is pending, and node n has space for it"},
		{"a node is too small", func(c *cluster) {
			total := resources.FromMap(map[string]resources.Quantity{"vcore": 999, "memory": gibibyte})
			assert.NilError(t, c.apply(scheduler.SetCapacity{Node: "n", Total: total}))
		}, "node n has {memory=1073741824 vcore=999}, and {memory=1073741824 vcore=1000} is allocated"},
		{"a queue is above its max", func(c *cluster) {
			conf, _ := queuesyaml.Load([]byte(strings.Replace(PreemptionConfig, "properties:",
				"resources: {max: {vcore: 999m}}\n"+
					"            properties:", 1)))
			assert.NilError(t, c.apply(scheduler.UseConfig{Partition: conf.Partitions[0]}))
		}, "queue root.shared may hold ≤{vcore=999}, and {memory=1073741824 vcore=1000} is allocated"},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := smallCluster(t)
			x.do(c)
			assert.Error(t, c.check(), x.want)
		})
	}
}

// An ask may be pending although the only node has space for it.
func TestCheckIdle_WhatMayBePending(t *testing.T) {
	for _, x := range []struct {
		name   string
		change func(s *scheduler.Snapshot, waits *scheduler.AllocationView)
	}{
		{"the node is not schedulable", func(s *scheduler.Snapshot, _ *scheduler.AllocationView) {
			s.Nodes.At(0).Schedulable = false
		}},
		{"the node is reserved", func(s *scheduler.Snapshot, _ *scheduler.AllocationView) {
			s.Nodes.At(0).ReservedFor = []objects.AllocationKey{"other"}
		}},
		{"another node is required", func(_ *scheduler.Snapshot, waits *scheduler.AllocationView) {
			ask := *waits.Ask
			ask.Details = &objects.AskDetails{RequiredNode: "m"}
			waits.Ask = &ask
		}},
		{"the queue is above its max with it", func(s *scheduler.Snapshot, _ *scheduler.AllocationView) {
			s.Root.Children.At(0).Max = resources.LimitFromMap(map[string]resources.Quantity{"vcore": 2000})
		}},
		{"applications start one by one", func(s *scheduler.Snapshot, _ *scheduler.AllocationView) {
			s.Root.Children.At(0).Settings.AppSort = policies.StateAware
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := smallCluster(t)
			s := c.core.Snapshot(c.now)
			s.Nodes.At(0).Available = coresOf(2)
			s.Root.Max = resources.LimitFromMap(coresOf(4).Map())
			assert.Error(t, CheckIdle(s), "ask waits of queue root.shared is pending, and node n has space for it")
			waits := s.Root.Children.At(0).Applications.At(0).Allocations.At(1)
			assert.Equal(t, waits.Ask.Key, objects.AllocationKey("waits"))
			x.change(s, waits)
			assert.NilError(t, CheckIdle(s))
		})
	}
}

// What contradicts the account of the resource manager is an error at once.
func TestCluster_RecordRefusesContradictions(t *testing.T) {
	c := smallCluster(t)
	assert.Error(t, c.record([]scheduler.Effect{scheduler.Allocated{Binding: &scheduler.Binding{
		Ask: &objects.Ask{Key: "runs"}, Node: "n"}}}), "runs was placed on node n, and is not pending")
	assert.Error(t, c.record([]scheduler.Effect{scheduler.Released{Key: "waits"}}),
		"waits was released, and it does not run")
	assert.Error(t, c.apply(scheduler.AddNode{Node: "n"}), "the scheduler has rejected node n: node n already exists")
	assert.ErrorContains(t, c.apply(scheduler.AddApplication{App: "b", Queue: "root.nowhere"}),
		"the scheduler has rejected application b: ")
	assert.NilError(t, c.submit([]*objects.Ask{{Key: "bad", App: "b", Amounts: coresOf(1)}}))
	assert.Equal(t, c.totals().Rejected, 1)
	assert.Equal(t, c.totals().Pending, 1)
	_, err := newCluster("partitions: 1")
	assert.ErrorContains(t, err, "the configuration of the demo: ")
}

func TestCluster_TopPendingHasTheHighestPriority(t *testing.T) {
	c := smallCluster(t)
	assert.Equal(t, c.explainTopPending().Key, objects.AllocationKey("waits"))
	assert.NilError(t, c.submit([]*objects.Ask{
		{Key: "y", App: "a", Amounts: coresOf(9), Priority: 7}, {Key: "x", App: "a", Amounts: coresOf(9), Priority: 7},
	}))
	assert.Equal(t, c.explainTopPending().Key, objects.AllocationKey("x"))
	c.pending = nil
	assert.Assert(t, c.explainTopPending() == nil)
}

func TestRunPreemption_Timeline(t *testing.T) {
	p, err := RunPreemption()
	assert.NilError(t, err)
	assert.Equal(t, len(p.Victims), 2, "as many as the ask needs")
	for _, v := range p.Victims {
		assert.Equal(t, v.Node, p.PlacedOn)
		assert.Equal(t, v.Priority, int32(0), "the lowest priority")
	}
	assert.Equal(t, p.PlacedOn, p.NominatedNode)
	var kinds []string
	var seconds []int64
	for _, e := range p.Timeline {
		kinds, seconds = append(kinds, e.Kind), append(seconds, e.Second)
	}
	assert.DeepEqual(t, kinds,
		[]string{"asked", "preempted", "preempted", "explained", "confirmed", "explained", "confirmed", "placed"})
	assert.DeepEqual(t, seconds, []int64{0, 0, 0, 0, 12, 12, 30, 30})
	for i, left := range map[int]int{3: 2, 5: 1} {
		assert.Equal(t, p.Timeline[i].Text, fmt.Sprintf(
			"urgent is pending: it is nominated for node %s, where victims have still to end: %d", p.PlacedOn, left))
	}
	lines := strings.Join(p.Lines(), "\n")
	for _, e := range p.Timeline {
		assert.Assert(t, strings.Contains(lines+"\n", fmt.Sprintf("%4d s  %s\n", e.Second, e.Text)), lines)
	}

	_, err = runPreemption(strings.Replace(PreemptionConfig, "leaf", "disabled", 1))
	assert.Error(t, err, "submitting urgent: nothing was preempted")
}
