package fairness_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/fairness"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

var start = time.Unix(1_700_000_000, 0)

func newCore(t *testing.T, config string) *scheduler.Core {
	t.Helper()
	conf, problems := queuesyaml.Load([]byte(config))
	assert.Assert(t, conf != nil, "%v", problems)
	return scheduler.New(conf.Partitions[0], nil)
}

// usageOf returns the usage over time of a child of root.
func usageOf(t *testing.T, c *scheduler.Core, path objects.QueuePath, at time.Time) *fairness.Usage {
	t.Helper()
	for q := range c.FullSnapshot(at).Root.Children.All() {
		if q.Path == path {
			return q.UsageOverTime
		}
	}
	t.Fatalf("there is no queue %s", path)
	return nil
}

// An amount costs its greatest part of the cluster, or the mean of the parts by weight (FAI-2).
func TestCost_DominantShareOrWeights(t *testing.T) {
	amounts := func(vcore, gpu resources.Quantity) resources.Amounts {
		return resources.FromMap(map[string]resources.Quantity{"vcore": vcore, "gpu": gpu, "memory": vcore})
	}
	for weights, want := range map[string]float64{
		"": 0.5, "{vcore: 1, gpu: 3}": (0.25 + 3*0.5) / 4, "{vcore: 2, disk: 2}": 0.125, "{disk: 1}": 0, "{gpu: 0.001}": 0.5,
	} {
		c := newCore(t, `
partitions:
  - name: default
    fairness: {weights: `+weights+`}
    queues: [{name: root, submitacl: '*', properties: {fairness.halflife: 1h}, queues: [{name: a}, {name: b}]}]
`)
		c.Step(start, scheduler.AddNode{Node: "n", Schedulable: true, Total: amounts(8, 4)})
		c.Step(start, scheduler.AddApplication{App: "x", Queue: "root.a", User: security.User{Name: "u"}})
		c.Step(start, scheduler.SubmitAsk{Ask: &objects.Ask{Key: "k", App: "x", Amounts: amounts(2, 2)}})
		c.Schedule(start, 10)
		got := usageOf(t, c, "root.a", start).Held()
		assert.Assert(t, math.Abs(got-want) < 1e-9, "%s: %v instead of %v", weights, got, want)

		c.Step(start, scheduler.AddNode{Node: "m", Schedulable: true, Total: amounts(8, 4)}) // it costs half as much
		c.Schedule(start, 10)
		got = usageOf(t, c, "root.a", start).Held()
		assert.Assert(t, math.Abs(got-want/2) < 1e-9, "%s: %v instead of %v", weights, got, want/2)
		assert.Equal(t, usageOf(t, c, "root.b", start).Held(), 0.0)
	}
}

// At a tick a thousand keys are computed at once, and the rest a tenth of a second later (FAI-3).
func TestTick_IsBounded(t *testing.T) {
	config := "partitions:\n- name: default\n  queues:\n  - name: root\n    submitacl: '*'\n" +
		"    properties: {fairness.halflife: 5m}\n    queues:\n"
	const queues = 2500
	for i := range queues {
		config += fmt.Sprintf("    - name: q%04d\n", i)
	}
	c := newCore(t, config)
	c.Step(start, scheduler.AddNode{Node: "n", Schedulable: true, Total: vcores(queues)})
	for i := range queues {
		app := objects.AppID(fmt.Sprintf("x%04d", i))
		c.Step(start, scheduler.AddApplication{App: app, Queue: fmt.Sprintf("root.q%04d", i), User: security.User{Name: "u"}})
		for k := range 2 { // one runs, one waits
			c.Step(start, scheduler.SubmitAsk{Ask: &objects.Ask{Key: objects.AllocationKey(fmt.Sprint(app, k)), App: app,
				Amounts: vcores(1)}})
		}
	}
	c.Schedule(start, 1<<20)
	late := func() (n int) { // queues with the key of a former tick
		keys := map[string]int{}
		for q := range c.Partition().Root().EachChild {
			keys[fmt.Sprint(q.OrderKey().Usage)]++
		}
		assert.Assert(t, len(keys) <= 2, "%v", keys)
		for _, count := range keys {
			n = max(n, count)
		}
		return queues - n
	}
	assert.Equal(t, late(), 0)
	at, due := c.NextDeadline()
	assert.Assert(t, due)
	tick := 5 * time.Minute / 256
	assert.Assert(t, at.Sub(start) <= tick, "%v", at.Sub(start))
	for _, want := range []int{1000, 500, 0} {
		c.Schedule(at, 1)
		assert.Equal(t, late(), want)
		c.Check()
		at = at.Add(100 * time.Millisecond)
		if next, _ := c.NextDeadline(); want > 0 {
			assert.Assert(t, !next.After(at))
		}
	}
}

// A dynamic queue that is gone keeps its history until that counts for nothing (FAI-7).
func TestForget_WhatIsGone(t *testing.T) {
	c := newCore(t, `
partitions:
  - name: default
    placementrules: [{name: user, create: true}]
    queues: [{name: root, submitacl: '*', properties: {fairness.halflife: 1h}, queues: [{name: other}]}]
`)
	now := start
	c.Step(now, scheduler.AddNode{Node: "n", Schedulable: true, Total: vcores(4)})
	c.Step(now, scheduler.AddApplication{App: "x", User: security.User{Name: "ann"}})
	c.Step(now, scheduler.SubmitAsk{Ask: &objects.Ask{Key: "k", App: "x", Amounts: vcores(4)}})
	c.Schedule(now, 10)
	now = now.Add(10 * time.Hour)
	c.Step(now, scheduler.Release{App: "x", Key: "k"})
	c.Step(now, scheduler.RemoveApplication{App: "x"})
	now = now.Add(time.Hour)
	c.Schedule(now, 10)
	_, there := c.Partition().Queue("root.ann")
	assert.Assert(t, !there)
	assert.Equal(t, len(c.UsageOverTime(now)), 1)

	now = now.Add(10 * time.Hour)
	c.Step(now, scheduler.AddApplication{App: "y", User: security.User{Name: "ann"}})
	share := usageOf(t, c, "root.ann", now).Share(now)
	assert.Assert(t, math.Abs(share-math.Exp2(-11)) < 1e-5, "%v", share)
	c.Step(now, scheduler.RemoveApplication{App: "y"})
	for range 24 {
		now = now.Add(time.Hour)
		c.Schedule(now, 10)
	}
	assert.Equal(t, len(c.UsageOverTime(now)), 0)
	assert.NilError(t, c.Check())
}

// What was read from a file is checked before it is used.
func TestKept_Validate(t *testing.T) {
	good := fairness.Kept{Queue: "root", Kind: fairness.Queues, Name: "a", HalfLife: 3_600_000, Mantissa: 1 << 63}
	assert.NilError(t, good.Validate())
	for want, change := range map[string]func(*fairness.Kept){
		`there is no kind "cow"`: func(k *fairness.Kept) { k.Kind = "cow" },
		"a half-life of 1 ms":    func(k *fairness.Kept) { k.HalfLife = 1 },
		"out of range":           func(k *fairness.Kept) { k.Mantissa = 7 },
		"is out of range":        func(k *fairness.Kept) { k.Exponent = math.MaxInt32 },
	} {
		k := good
		change(&k)
		assert.ErrorContains(t, k.Validate(), want)
		assert.ErrorContains(t, k.Validate(), "a in root")
	}
}
