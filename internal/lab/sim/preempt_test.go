package sim_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/cli/demo"
	"github.com/canopy-scheduler/canopy/internal/lab/sim"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// sharedLeafConfig is one leaf in which an ask may preempt allocations of lower priority.
const sharedLeafConfig = demo.PreemptionConfig

// replayByQoS replays the sample on half of its nodes, one QoS class after the other, in one leaf.
func replayByQoS(t *testing.T, config string, change func(*sim.Replay)) (*sim.Client, *sim.Replay, string) {
	t.Helper()
	ctx := testContext(t)
	conf, problems := queuesyaml.Load([]byte(config))
	assert.Assert(t, conf != nil, problems)
	clock := sim.NewClock()
	s, c := startPair(t, loop.Options{Now: clock.Now}, config)
	nodes, tasks := sample(t)
	r := &sim.Replay{
		Client: c, Clock: clock, Nodes: nodes[1:7], Tasks: tasks, Priorities: sim.QoSPriorities(), SendPriorities: true,
		ByQoS:    true,
		Preempts: true, VictimWait: sim.VictimWait(conf.Partitions[0]),
		Queue: func(sim.Task) objects.QueuePath { return "root.shared" },
		Audit: func(ctx context.Context) error {
			if err := c.AuditPreemption(conf.Partitions[0]); err != nil {
				return err
			}
			return s.Audit(ctx, c)
		},
	}
	change(r)
	how := r.Fill
	if !r.ByQoS {
		how = r.Lifetimes
	}
	assert.NilError(t, how(ctx))
	var b strings.Builder
	for _, e := range c.Log() {
		fmt.Fprintf(&b, "%s %s %s\n", e.Key, e.Kind, e.Node)
	}
	return c, r, b.String()
}

// findQoSLine returns the line of a QoS class.
func findQoSLine(t *testing.T, p sim.Preemption, qos string) sim.QoSLine {
	t.Helper()
	for _, l := range p.ByQoS {
		if l.QoS == qos {
			return l
		}
	}
	t.Fatalf("there is no class %s in %v", qos, p.ByQoS)
	return sim.QoSLine{}
}

// The class ls comes last, and preempts be.
func TestReplay_HighPriorityPreempts(t *testing.T) {
	c, r, log := replayByQoS(t, sharedLeafConfig, func(*sim.Replay) {})
	with := r.Preemption()
	_, r, _ = replayByQoS(t, sharedLeafConfig, func(r *sim.Replay) { r.Preempts = false })
	without := r.Preemption()

	assert.Assert(t, findQoSLine(t, with, "ls").Running > findQoSLine(t, without, "ls").Running, "%+v\n%+v", with, without)
	assert.Assert(t, findQoSLine(t, with, "be").Running < findQoSLine(t, without, "be").Running)
	assert.Equal(t, without.Victims+without.Preemptions, 0)
	assert.Assert(t, with.Preemptions > 0 && with.Preemptions <= with.Victims)
	assert.Equal(t, with.Unsuccessful, 0)
	assert.Equal(t, findQoSLine(t, with, "ls").Preempted, 0, "it has the highest priority")
	assert.DeepEqual(t, []string{with.ByQoS[0].QoS, with.ByQoS[3].QoS}, []string{"ls", "be"})
	var lost int64
	for _, l := range with.ByQoS {
		assert.Equal(t, l.Tasks, l.Running+l.Waiting+l.NotResubmitted, l.QoS)
		assert.Equal(t, l.NotResubmitted, l.Preempted, l.QoS)
		assert.Equal(t, l.Placed, l.Running+l.Preempted, l.QoS)
		lost += int64(l.Lost["vcore"])
	}
	assert.Equal(t, lost, int64(with.Lost["vcore"]))

	b, err := c.Balance()
	assert.NilError(t, err)
	assert.Equal(t, b.Preempted.Allocations, with.Victims)
	assert.DeepEqual(t, b.Preempted.Resources, with.Lost)
	assert.Equal(t, b.Running.Allocations, len(c.Running()))
	for _, name := range []string{"vcore", "memory", sim.GPU} {
		assert.Equal(t, b.Placed.Resources[name]-b.Preempted.Resources[name], b.Running.Resources[name], name)
	}
	for range 2 {
		_, _, again := replayByQoS(t, sharedLeafConfig, func(*sim.Replay) {})
		assert.Equal(t, again, log, "the same decisions each time")
	}
}

func TestReplay_VictimsAreResubmitted(t *testing.T) {
	c, r, log := replayByQoS(t, sharedLeafConfig, func(r *sim.Replay) { r.Resubmit = true })
	p := r.Preemption()
	assert.Assert(t, p.Victims > 0)
	assert.Equal(t, p.Resubmitted, p.Victims)
	assert.Assert(t, p.PlacedAgain > 0 && strings.Contains(log, "#2 placed "), log)
	running, waiting := 0, 0
	for _, l := range p.ByQoS {
		assert.Equal(t, l.Tasks, l.Running+l.Waiting, l.QoS)
		assert.Equal(t, l.NotResubmitted, 0)
		running, waiting = running+l.Running, waiting+l.Waiting
	}
	assert.Equal(t, running, len(c.Running()))
	assert.Equal(t, waiting, len(c.Waiting()))
	assert.Equal(t, c.Report().Preempted, p.Victims)
}

// A trace may have a task name that equals the key of a resubmitted ask.
func TestReplay_ResubmittedKeysAreUnique(t *testing.T) {
	_, _, log := replayByQoS(t, sharedLeafConfig, func(r *sim.Replay) {
		r.Resubmit = true
		var be []string
		for _, x := range r.Tasks {
			if x.QoS == "BE" {
				be = append(be, x.Name)
			}
		}
		for i := range r.Tasks {
			if r.Tasks[i].QoS == "LS" && len(be) > 0 {
				r.Tasks[i].Name, be = be[0]+"#2", be[1:]
			}
		}
	})
	assert.Assert(t, strings.Contains(log, "#2' placed "), log)
}

// Lifetimes has victims too, and a victim is not released at its end in the trace.
func TestReplay_LifetimesWithPreemption(t *testing.T) {
	for _, resubmit := range []bool{false, true} {
		c, r, _ := replayByQoS(t, sharedLeafConfig,
			func(r *sim.Replay) { r.ByQoS, r.Resubmit, r.Nodes = false, resubmit, r.Nodes[:2] })
		p := r.Preemption()
		assert.Assert(t, p.Victims > 0)
		assert.Equal(t, p.Resubmitted > 0, resubmit)
		assert.Equal(t, len(c.Running())+len(c.Waiting()), 0)
		b, err := c.Balance()
		assert.NilError(t, err)
		assert.Equal(t, b.Placed.Allocations, b.Preempted.Allocations+b.Released.Allocations)
		assert.Assert(t, b.Preempted.Allocations == p.Victims && b.Released.Allocations > 0)
	}
}

// Priority alone does not allow preemption: the configuration must.
func TestVictimWait_FollowsFromConfiguration(t *testing.T) {
	for config, want := range map[string]string{
		sharedLeafConfig: "6s", strings.Replace(sharedLeafConfig, "leaf", "disabled", 1): "0s",
		strings.Replace(sharedLeafConfig, "properties: {preemption.priority: leaf}", "resources: {guaranteed: {vcore: 1}}",
			1): "36s",
		strings.Replace(sharedLeafConfig, "    queues:", "    preemption: {enabled: false}\n    queues:",
			1): "0s",
		strings.Replace(sharedLeafConfig, "preemption.priority: leaf", "preemption.priority: fence, preemption.delay: 90s",
			1): "6s",
	} {
		conf, problems := queuesyaml.Load([]byte(config))
		assert.Assert(t, conf != nil, problems)
		assert.Equal(t, sim.VictimWait(conf.Partitions[0]).String(), want, config)
	}
}

// Preemption for a guarantee waits for the preemption delay.
func TestReplay_WaitsForGuaranteeDelay(t *testing.T) {
	const config = "partitions: [{name: default, queues: [{name: root, submitacl: '*', queues: [" +
		"{name: ls, resources: {guaranteed: {vcore: 200, nvidia.com/gpu-milli: 20000}}}, {name: be}, {name: burstable}, " +
		"{name: guaranteed}]}]}]"
	_, r, log := replayByQoS(t, config, func(r *sim.Replay) {
		r.Queue = nil
		for i := range r.Tasks {
			r.Tasks[i].Created = 2000 // no ask is older than the delay at the end
		}
	})
	p := r.Preemption()
	assert.Assert(t, findQoSLine(t, p, "be").Preempted > 0 && p.Unsuccessful == 0, log)
}

func TestAuditPreemption_FindsMissedVictim(t *testing.T) {
	conf, _ := queuesyaml.Load([]byte(sharedLeafConfig))
	off, _ := queuesyaml.Load([]byte(strings.Replace(sharedLeafConfig, "leaf", "disabled", 1)))
	max, _ := queuesyaml.Load([]byte(strings.Replace(sharedLeafConfig, "- name: shared",
		"- name: shared\n            resources: {max: {vcore: 1m}}", 1)))
	ctx := testContext(t)
	// a scheduler that does not preempt
	_, c := startPair(t, loop.Options{}, strings.Replace(sharedLeafConfig, "leaf", "disabled", 1))
	assert.NilError(t, c.AddNodes(ctx, sim.Node{ID: "n1", Capacity: amounts(3, 10)}))
	assert.NilError(t, c.AddApplications(ctx, sim.Application{ID: "app", Queue: "root.shared", User: "u"}))
	low, high := ask("low", "app", 2), ask("high", "app", 2)
	high.Priority, high.Preempts = 5, true
	assert.NilError(t, c.Submit(ctx, low))
	assert.NilError(t, c.WaitIdle(ctx))
	assert.NilError(t, c.Submit(ctx, high))
	assert.NilError(t, c.WaitIdle(ctx))
	assert.Error(t, c.AuditPreemption(conf.Partitions[0]), "ask high of queue root.shared has priority 5 and is pending, "+
		"and could preempt allocations of lower priority on node n1")
	assert.NilError(t, c.AuditPreemption(off.Partitions[0]), "preemption is disabled")
	assert.NilError(t, c.AuditPreemption(max.Partitions[0]), "the max would still block the ask")
}

func TestClient_ConfirmNeedsPreemption(t *testing.T) {
	ctx := testContext(t)
	_, c := startPair(t, loop.Options{}, sharedLeafConfig)
	assert.NilError(t, c.AddNodes(ctx, sim.Node{ID: "n1", Capacity: amounts(3, 10)}))
	assert.NilError(t, c.AddApplications(ctx, sim.Application{ID: "app", Queue: "root.shared", User: "u"}))
	assert.NilError(t, c.Submit(ctx, ask("k", "app", 2)))
	assert.NilError(t, c.WaitIdle(ctx))
	assert.Error(t, c.Confirm(ctx, "k"), "k was not preempted")
	assert.Error(t, c.Confirm(ctx, "missing"), "missing was not preempted")
}

// A requested release of an allocation that was preempted meanwhile stays a requested release.
func TestClient_ReleaseOfPreemptedAllocation(t *testing.T) {
	ctx := testContext(t)
	leave := []*si.AllocationRelease{{
		AllocationKey: "k", TerminationType: si.TerminationType_PREEMPTED_BY_SCHEDULER, Message: "so",
	}}
	says := &si.AllocationResponse{New: []*si.Allocation{{AllocationKey: "k", NodeID: "n"}}, Released: leave}
	c, err := dialFake(t, ctx, fakeScheduler{answer: says})
	assert.NilError(t, err)
	assert.Equal(t, len(c.UnconfirmedVictims()), 1)
	assert.Equal(t, c.UnconfirmedVictims()[0].Preemptor, objects.AllocationKey(""), "the message names none")
	assert.NilError(t, c.Release(ctx, "k"))
	assert.Equal(t, len(c.UnconfirmedVictims()), 0)
	assert.Equal(t, len(c.AllVictims()), 1)

	says.Released = append(leave, leave...)
	_, err = dialFake(t, ctx, fakeScheduler{answer: says})
	assert.Error(t, err, "waiting for the scheduler to be idle: k was preempted twice: so")
}
