package sim_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/loop"
	"github.com/canopy-scheduler/canopy/internal/sim"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// shared is one leaf in which the more important may take the place of the less important.
const shared = sim.SceneConfig

// contest is a replay of the sample on part of its nodes, class by class, in one leaf.
func contest(t *testing.T, config string, change func(*sim.Replay)) (*sim.Client, *sim.Replay, string) {
	t.Helper()
	ctx := patient(t)
	conf, problems := configs.Load([]byte(config))
	assert.Assert(t, conf != nil, problems)
	clock := sim.NewClock()
	s, c := pair(t, loop.Options{Now: clock.Now}, config)
	nodes, tasks := sample(t)
	r := &sim.Replay{
		Client: c, Clock: clock, Nodes: nodes[1:7], Tasks: tasks, Priorities: sim.QoSPriorities(), SendPriorities: true, ByClass: true,
		Preempts: true, Patience: sim.Patience(conf.Partitions[0]),
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
	if !r.ByClass {
		how = r.Lifetimes
	}
	assert.NilError(t, how(ctx))
	var b strings.Builder
	for _, e := range c.Log() {
		fmt.Fprintf(&b, "%s %s %s\n", e.Key, e.Kind, e.Node)
	}
	return c, r, b.String()
}

// line is what became of a class.
func line(t *testing.T, p sim.Preemption, class string) sim.ClassLine {
	t.Helper()
	for _, l := range p.Classes {
		if l.QoS == class {
			return l
		}
	}
	t.Fatalf("there is no class %s in %v", class, p.Classes)
	return sim.ClassLine{}
}

// What is latency sensitive comes last, and takes the place of best effort.
func TestTheImportantComeLastAndArePlaced(t *testing.T) {
	c, r, log := contest(t, shared, func(*sim.Replay) {})
	with := r.Preemption()
	_, r, _ = contest(t, shared, func(r *sim.Replay) { r.Preempts = false })
	without := r.Preemption()

	assert.Assert(t, line(t, with, "ls").Running > line(t, without, "ls").Running, "%+v\n%+v", with, without)
	assert.Assert(t, line(t, with, "be").Running < line(t, without, "be").Running)
	assert.Equal(t, without.Victims+without.Preemptions, 0)
	assert.Assert(t, with.Preemptions > 0 && with.Preemptions <= with.Victims)
	assert.Equal(t, with.InVain, 0)
	assert.Equal(t, line(t, with, "ls").Preempted, 0, "nobody is more important")
	assert.DeepEqual(t, []string{with.Classes[0].QoS, with.Classes[3].QoS}, []string{"ls", "be"})
	var lost int64
	for _, l := range with.Classes {
		assert.Equal(t, l.Tasks, l.Running+l.Waiting+l.Gone, l.QoS)
		assert.Equal(t, l.Gone, l.Preempted, l.QoS)
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
		_, _, again := contest(t, shared, func(*sim.Replay) {})
		assert.Equal(t, again, log, "the same decisions each time")
	}
}

func TestWhoHadToLeaveMayAskAgain(t *testing.T) {
	c, r, log := contest(t, shared, func(r *sim.Replay) { r.Resubmit = true })
	p := r.Preemption()
	assert.Assert(t, p.Victims > 0)
	assert.Equal(t, p.Resubmitted, p.Victims)
	assert.Assert(t, p.PlacedAgain > 0 && strings.Contains(log, "#2 placed "), log)
	running, waiting := 0, 0
	for _, l := range p.Classes {
		assert.Equal(t, l.Tasks, l.Running+l.Waiting, l.QoS)
		assert.Equal(t, l.Gone, 0)
		running, waiting = running+l.Running, waiting+l.Waiting
	}
	assert.Equal(t, running, len(c.Running()))
	assert.Equal(t, waiting, len(c.Waiting()))
	assert.Equal(t, c.Report().Preempted, p.Victims)
}

// A trace may call its tasks as we call those that come back.
func TestTasksThatComeBackHaveNamesOfTheirOwn(t *testing.T) {
	_, _, log := contest(t, shared, func(r *sim.Replay) {
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

// In the order of the trace tasks have to leave as well, and what has left does not end again.
func TestLifetimesWithPreemption(t *testing.T) {
	for _, resubmit := range []bool{false, true} {
		c, r, _ := contest(t, shared, func(r *sim.Replay) { r.ByClass, r.Resubmit, r.Nodes = false, resubmit, r.Nodes[:2] })
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

// Without a right in the configuration, importance alone moves nobody.
func TestTheConfigurationGivesTheRight(t *testing.T) {
	for config, want := range map[string]string{
		shared: "6s", strings.Replace(shared, "leaf", "disabled", 1): "0s",
		strings.Replace(shared, "properties: {preemption.priority: leaf}", "resources: {guaranteed: {vcore: 1}}", 1): "36s",
		strings.Replace(shared, "    queues:", "    preemption: {enabled: false}\n    queues:", 1):                   "0s",
		strings.Replace(shared, "preemption.priority: leaf", "preemption.priority: fence, preemption.delay: 90s", 1): "6s",
	} {
		conf, problems := configs.Load([]byte(config))
		assert.Assert(t, conf != nil, problems)
		assert.Equal(t, sim.Patience(conf.Partitions[0]).String(), want, config)
	}
}

// A guarantee gives its right after a while in which nothing happens.
func TestAGuaranteeIsWaitedFor(t *testing.T) {
	const config = "partitions: [{name: default, queues: [{name: root, submitacl: '*', queues: [" +
		"{name: ls, resources: {guaranteed: {vcore: 200, nvidia.com/gpu-milli: 20000}}}, {name: be}, {name: burstable}, {name: guaranteed}]}]}]"
	_, r, log := contest(t, config, func(r *sim.Replay) {
		r.Queue = nil
		for i := range r.Tasks {
			r.Tasks[i].Created = 2000 // none is old when the last has come
		}
	})
	p := r.Preemption()
	assert.Assert(t, line(t, p, "be").Preempted > 0 && p.InVain == 0, log)
}

func TestAnOverlookedVictimIsFound(t *testing.T) {
	conf, _ := configs.Load([]byte(shared))
	off, _ := configs.Load([]byte(strings.Replace(shared, "leaf", "disabled", 1)))
	max, _ := configs.Load([]byte(strings.Replace(shared, "- name: shared", "- name: shared\n            resources: {max: {vcore: 1m}}", 1)))
	ctx := patient(t)
	_, c := pair(t, loop.Options{}, strings.Replace(shared, "leaf", "disabled", 1)) // a scheduler that does not look
	assert.NilError(t, c.AddNodes(ctx, sim.Node{ID: "n1", Has: some(3, 10)}))
	assert.NilError(t, c.AddApplications(ctx, sim.Application{ID: "app", Queue: "root.shared", User: "u"}))
	low, high := ask("low", "app", 2), ask("high", "app", 2)
	high.Priority, high.Preempts = 5, true
	assert.NilError(t, c.Submit(ctx, low))
	assert.NilError(t, c.Settle(ctx))
	assert.NilError(t, c.Submit(ctx, high))
	assert.NilError(t, c.Settle(ctx))
	assert.Error(t, c.AuditPreemption(conf.Partitions[0]), "ask high of queue root.shared has priority 5 and is pending, "+
		"and less important work on node n1 is in its place")
	assert.NilError(t, c.AuditPreemption(off.Partitions[0]), "there is no right")
	assert.NilError(t, c.AuditPreemption(max.Partitions[0]), "it would still be in the way of the max")
}

func TestAPreemptionStepByStep(t *testing.T) {
	play := func(config string) (*sim.Scene, error) {
		clock := sim.NewClock()
		s, c := pair(t, loop.Options{Now: clock.Now}, config)
		return sim.Play(patient(t), s, c, clock)
	}
	scene, err := play(sim.SceneConfig)
	assert.NilError(t, err)
	assert.Equal(t, len(scene.Victims), 2)
	for _, v := range scene.Victims {
		assert.Equal(t, v.Node, scene.PlacedOn)
		assert.Equal(t, v.Priority, int32(0), "the least important")
	}
	assert.Equal(t, scene.PlacedOn, scene.Node)
	var kinds []string
	var seconds []int64
	for _, e := range scene.Timeline {
		kinds, seconds = append(kinds, e.Kind), append(seconds, e.Second)
	}
	assert.DeepEqual(t, kinds, []string{"asked", "preempted", "preempted", "explained", "confirmed", "explained", "confirmed", "placed"})
	assert.DeepEqual(t, seconds, []int64{0, 0, 0, 0, 12, 12, 30, 30})
	lines := strings.Join(scene.Lines(), "\n")
	for _, e := range scene.Timeline {
		assert.Assert(t, strings.Contains(lines, fmt.Sprintf("%4d s  %s\n", e.Second, e.Text)) || e.Kind == "placed", lines)
	}

	_, err = play(strings.Replace(sim.SceneConfig, "leaf", "disabled", 1))
	assert.Error(t, err, "nothing was preempted for urgent")
}

func TestConfirmingWhatWasNotTold(t *testing.T) {
	ctx := patient(t)
	_, c := pair(t, loop.Options{}, shared)
	assert.NilError(t, c.AddNodes(ctx, sim.Node{ID: "n1", Has: some(3, 10)}))
	assert.NilError(t, c.AddApplications(ctx, sim.Application{ID: "app", Queue: "root.shared", User: "u"}))
	assert.NilError(t, c.Submit(ctx, ask("k", "app", 2)))
	assert.NilError(t, c.Settle(ctx))
	assert.Error(t, c.Confirm(ctx, "k"), "k was not told to leave")
	assert.Error(t, c.Confirm(ctx, "nobody"), "nobody was not told to leave")
}

// A release that was on its way when its allocation was told to leave counts as what it is.
func TestAReleaseOnTheWay(t *testing.T) {
	ctx := patient(t)
	leave := []*si.AllocationRelease{{
		AllocationKey: "k", TerminationType: si.TerminationType_PREEMPTED_BY_SCHEDULER, Message: "so",
	}}
	says := &si.AllocationResponse{New: []*si.Allocation{{AllocationKey: "k", NodeID: "n"}}, Released: leave}
	c, err := believe(t, ctx, liar{says: says})
	assert.NilError(t, err)
	assert.Equal(t, len(c.Victims()), 1)
	assert.Equal(t, c.Victims()[0].For, objects.AllocationKey(""), "it was not said")
	assert.NilError(t, c.Release(ctx, "k"))
	assert.Equal(t, len(c.Victims()), 0)
	assert.Equal(t, len(c.Told()), 1)

	says.Released = append(leave, leave...)
	_, err = believe(t, ctx, liar{says: says})
	assert.Error(t, err, "settling: k was told to leave twice: so")
}
