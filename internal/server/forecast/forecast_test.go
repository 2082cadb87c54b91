package forecast

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/durations"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// An ask starts when the allocation in front of it has run as long as its like.
func TestForecast_FromTheAgeOfWhatRuns(t *testing.T) {
	c := newCluster(t, twoLeaves)
	c.app("x", "root.a", nil)
	c.learn("x")
	c.node("n1", 2)
	c.ask("x", "first", 1)
	c.goOn(20 * time.Second)
	c.ask("x", "second", 1)
	c.ask("x", "third", 1)
	c.goOn(15 * time.Second)
	a := c.forecast("third")
	assert.Equal(t, a.Code, Expected)
	assert.Equal(t, a.P10, 25*time.Second)
	assert.Equal(t, a.P50, 25*time.Second)
	assert.Equal(t, a.P90, 25*time.Second)
	assert.Equal(t, a.At, c.now)
	assert.Equal(t, a.Runs, Runs)
	assert.Equal(t, a.Started, Runs)
	assert.DeepEqual(t, a.Basis, []Basis{{durations.Key{Queue: "root.a"}, durations.Kept, time.Minute}})
	assert.DeepEqual(t, c.forecast("third"), a)
	c.goOn(time.Minute)
	assert.Equal(t, c.starts["third"].Sub(a.At), a.P50)
}

// Durations are those of the tag's value, and quantiles differ where durations do.
func TestForecast_ByTag(t *testing.T) {
	c := newCluster(t, twoLeaves)
	spread := []time.Duration{time.Minute, 2 * time.Minute, 3 * time.Minute, 4 * time.Minute}
	n := 0
	c.life = func(app objects.AppID) time.Duration {
		if app == "short" {
			return 10 * time.Second
		}
		n++
		return spread[n%len(spread)]
	}
	c.app("short", "root.a", map[string]string{"team": "red"})
	c.app("long", "root.a", map[string]string{"team": "blue"})
	c.learn("short")
	c.learn("long")
	c.node("n1", 1)
	c.ask("short", "s", 1)
	c.schedule()
	c.ask("short", "after", 1)
	a := c.forecast("after")
	assert.Equal(t, a.P90, 10*time.Second)
	assert.DeepEqual(t, a.Basis[0].Key, durations.Key{Queue: "root.a", Value: "red"})
	c.goOn(10 * time.Second)
	c.goOn(10 * time.Second)
	c.ask("long", "l", 1)
	c.schedule()
	c.ask("long", "after", 1)
	a = c.forecast("after")
	assert.Equal(t, a.Code, Expected)
	assert.Assert(t, a.P10 == time.Minute && a.P90 == 4*time.Minute, "%+v", a)
}

// A dynamic leaf keeps the child template that it was created with, and a queue that drains its settings: the ask waits
// for its own leaf, whatever the configuration in force says (QUE-24, EXP-12).
func TestForecast_OfALeafWithSettingsOfItsOwn(t *testing.T) {
	for name, queue := range map[string]string{
		"dynamic":  "{name: teams, parent: true, childtemplate: {resources: {max: {vcore: %d}}}}",
		"draining": "{name: teams, queues: [{name: red, resources: {max: {vcore: %d}}}]}",
	} {
		t.Run(name, func(t *testing.T) {
			const begin = "partitions: [{placementrules: [{name: provided, create: true}], queues: [{name: root, submitacl: " +
				"'*', queues: ["
			c := newCluster(t, begin+fmt.Sprintf(queue, 2)+"]}]}]")
			c.app("x", "root.teams.red", nil)
			c.learn("x")
			c.node("n1", 16)
			for i := range 4 {
				c.ask("x", objects.AllocationKey(fmt.Sprint(i)), 1)
			}
			c.goOn(20 * time.Second)
			after := fmt.Sprintf(queue, 6)
			if name == "draining" {
				after = "{name: teams, parent: true}"
			}
			conf, problems := queuesyaml.Load([]byte(begin + after + "]}]}]"))
			assert.Assert(t, conf != nil, problems)
			c.conf = conf.Partitions[0]
			c.step(scheduler.UseConfig{Partition: c.conf})
			c.schedule()
			assert.Equal(t, c.forecast("3").P50, 40*time.Second)
		})
	}
}

func TestForecast_WithoutExpectedStart(t *testing.T) {
	c := newCluster(t, twoLeaves)
	c.app("x", "root.a", nil)
	c.node("n1", 1)
	c.ask("x", "first", 1)
	c.schedule()
	c.ask("x", "second", 1)
	assert.Equal(t, c.forecast("second").Code, NotEnoughHistory)
	assert.Equal(t, c.forecast("first").Code, NotPending)
	c.goOn(time.Minute)
	c.goOn(time.Minute)
	c.learn("x")
	c.ask("x", "large", 9)
	a := c.forecast("large")
	assert.Equal(t, a.Code, NeverAsThingsAre)
	assert.Assert(t, a.P10 == Missing && a.P50 == Missing && a.P90 == Missing && a.Started == 0, "%+v", a)

	c.app("held", "root.b", nil)
	c.ask("held", "h", 1)
	assert.Equal(t, c.forecast("h").P90, time.Duration(0))
	c.step(scheduler.Operate{Action: scheduler.HoldApplication, App: "held"})
	assert.Equal(t, c.forecast("h").Code, NeverAsThingsAre)
	c.step(scheduler.Operate{Action: scheduler.ReleaseApplication, App: "held"},
		scheduler.Operate{Action: scheduler.StopQueue, Queue: "root.b"})
	assert.Equal(t, c.forecast("h").Code, NeverAsThingsAre)

	c.app("gang", "root.a", nil)
	c.step(scheduler.SubmitAsk{Ask: &objects.Ask{
		Key: "p", App: "gang", Amounts: cores(9), Placeholder: true,
		Details: objects.NewAskDetails(objects.AskDetails{TaskGroup: "g"}),
	}})
	assert.Equal(t, c.forecast("p").Code, MemberOfGang)
}

// What takes longer than the horizon is beyond it.
func TestForecast_BeyondTheHorizon(t *testing.T) {
	c := newCluster(t, twoLeaves)
	c.app("x", "root.a", nil)
	c.life = func(objects.AppID) time.Duration { return Horizon + time.Hour }
	c.learn("x")
	c.node("n1", 1)
	c.ask("x", "first", 1)
	c.schedule()
	c.ask("x", "second", 1)
	assert.Equal(t, c.forecast("second").Code, BeyondHorizon)
	c.goOn(2 * time.Hour)
	assert.Equal(t, c.forecast("second").P50, Horizon-time.Hour)
}

// A quantile is of all runs, so it is missing if the ask has started in too few of them.
func TestForecast_QuantileBeyondTheHorizon(t *testing.T) {
	c := newCluster(t, twoLeaves)
	c.app("x", "root.a", nil)
	n := 0
	c.life = func(objects.AppID) time.Duration {
		n++
		if n%4 == 0 {
			return 2 * Horizon
		}
		return time.Minute
	}
	c.learn("x")
	c.node("n1", 1)
	c.ask("x", "first", 1)
	c.schedule()
	c.ask("x", "second", 1)
	a := c.forecast("second")
	assert.Equal(t, a.Code, Expected)
	assert.Equal(t, a.P50, time.Minute)
	assert.Equal(t, a.P90, Missing)
	assert.Assert(t, a.Started < a.Runs, "%+v", a)
}

// Victims end when they are preempted, and an ask on whose node victims are ending starts at once.
func TestForecast_Preemption(t *testing.T) {
	c := newCluster(t, `
partitions:
- name: default
  queues:
  - name: root
    submitacl: '*'
    queues:
    - {name: a, properties: {preemption.priority: leaf}}
`)
	c.app("x", "root.a", nil)
	c.learn("x")
	c.node("n1", 1)
	c.step(scheduler.SubmitAsk{Ask: &objects.Ask{Key: "low", App: "x", Amounts: cores(1),
		Policy: objects.PolicySent | objects.PolicyAllowPreemptSelf}})
	c.schedule()
	c.goOn(time.Second)
	c.step(scheduler.SubmitAsk{Ask: &objects.Ask{
		Key: "high", App: "x", Amounts: cores(1), Priority: 9, Policy: objects.PolicySent | objects.PolicyAllowPreemptOther,
	}})
	assert.Equal(t, c.forecast("high").P90, time.Duration(0))
	c.schedule()
	e := c.core.Explain("high", c.now)
	assert.Equal(t, e.Verdict.Terminating, 1)
	assert.Equal(t, c.forecast("high").P90, time.Duration(0))
}

func TestForecast_IsBounded(t *testing.T) {
	c := newCluster(t, twoLeaves)
	c.app("x", "root.a", nil)
	c.learn("x")
	c.node("n1", 1)
	c.ask("x", "a", 1)
	o := newOriginal(c.state(), c.learnt.ValueOf, nil)
	assert.Equal(t, o.size(), 3)
	o.nodes = slices.Repeat(o.nodes, maxWork/MinRuns)
	assert.Assert(t, maxWork/o.size() < MinRuns)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Make(ctx, c.state(), c.learnt, []objects.AllocationKey{"a"})
	assert.ErrorIs(t, err, context.Canceled)
}

func TestQuantile_CountsRunsWithoutAStart(t *testing.T) {
	starts := []time.Duration{1, 2, 3, 4, 5}
	assert.Equal(t, quantile(starts, 5, 0.5), time.Duration(3))
	assert.Equal(t, quantile(starts, 5, 0.9), time.Duration(5))
	assert.Equal(t, quantile(starts, 10, 0.1), time.Duration(1))
	assert.Equal(t, quantile(starts, 10, 0.5), time.Duration(5))
	assert.Equal(t, quantile(starts, 10, 0.9), Missing)
	assert.Equal(t, quantile(nil, 5, 0.1), Missing)
}

func TestUniform_IsSpreadOverRunsAndKeys(t *testing.T) {
	for key := range 50 {
		var all []float64
		for i := range Runs {
			all = append(all, uniform(objects.AllocationKey(fmt.Sprint("task-", key)), i))
		}
		slices.Sort(all)
		for i, u := range all {
			want := (float64(i) + 0.5) / Runs
			assert.Assert(t, u >= 0 && u < 1 && max(u-want, want-u) < 1.5/Runs, "%v", all)
		}
	}
	sum := 0.0
	for key := range 1000 {
		sum += uniform(objects.AllocationKey(fmt.Sprint("task-", key)), 0)
	}
	assert.Assert(t, sum > 450 && sum < 550, "%v", sum)
}

// Draws of one group in a run go together a little, and are uniform over all.
func TestCorrelated_WithinTheGroupOfARun(t *testing.T) {
	const keys, runs = 300, 100
	key := func(i int) objects.AllocationKey { return objects.AllocationKey(fmt.Sprint("task-", i)) }
	all := func(group durations.Key) (correlation float64, low int) {
		sum, n := 0.0, 0
		for run := range runs {
			mean := 0.0
			for i := range keys {
				u := correlated(group, key(i), run)
				assert.Assert(t, u > 0 && u < 1)
				mean += normal(u) / keys
				n++
				if u < 0.1 {
					low++
				}
			}
			sum += mean * mean / runs // of independent variables: 1/keys
		}
		return sum, low
	}
	correlation, low := all(durations.Key{Queue: "root.a"})
	assert.Assert(t, correlation > common/2 && correlation < 2*common, "%v", correlation)
	assert.Assert(t, low > keys*runs*9/100 && low < keys*runs*11/100, "%v", low)
	assert.Assert(t,
		correlated(durations.Key{Queue: "root.a"}, "k", 1) != correlated(durations.Key{Queue: "root.b"}, "k", 1))
}

// Where durations are certain and nothing new comes, the median is what then happens, in random clusters.
func TestForecast_IsWhatHappens(t *testing.T) {
	waited := 0
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 0))
		c := newCluster(t, fmt.Sprintf(`
partitions:
- name: default
  reservation: {enabled: %t}
  queues:
  - name: root
    submitacl: '*'
    properties: {preemption.policy: disabled}
    queues:
    - {name: a, resources: {max: {vcore: %d}}, properties: {application.sort.policy: %s}}
    - {name: b, maxapplications: %d}
    - name: c
      parent: true
      limits: [{limit: all, users: ['*'], maxresources: {vcore: %d}}]
      queues: [{name: d}, {name: e}]
`, seed%2 == 0, 3+rng.IntN(9), []string{"fifo", "fair"}[rng.IntN(2)], 1+rng.IntN(4), 4+rng.IntN(9)))
		lives := map[objects.AppID]time.Duration{}
		c.life = func(app objects.AppID) time.Duration { return lives[app] }
		leaves := []string{"root.a", "root.b", "root.c.d", "root.c.e"}
		for i, leaf := range leaves {
			id := objects.AppID(fmt.Sprint("teacher-", i))
			lives[id] = time.Duration(20+rng.IntN(100)) * time.Second
			c.app(id, leaf, nil)
			c.learn(id)
			c.step(scheduler.RemoveApplication{App: id})
		}
		for i := range 1 + rng.IntN(5) {
			c.node(objects.NodeID(fmt.Sprint("n", i)), 2+rng.Int64N(6))
		}
		var keys []objects.AllocationKey
		var apps []objects.AppID
		for i := range 12 {
			leaf := rng.IntN(len(leaves))
			id := objects.AppID(fmt.Sprint("app-", 99-i)) // by name the last comes first
			lives[id] = lives[objects.AppID(fmt.Sprint("teacher-", leaf))]
			c.app(id, leaves[leaf], nil)
			c.goOn(time.Duration(rng.IntN(2)) * time.Second)
			apps = append(apps, id)
		}
		rng.Shuffle(len(apps), func(i, j int) { apps[i], apps[j] = apps[j], apps[i] })
		for _, id := range apps {
			for j := range rng.IntN(6) {
				key := objects.AllocationKey(fmt.Sprintf("%s-%d", id, j))
				c.step(scheduler.SubmitAsk{Ask: &objects.Ask{Key: key, App: id, Amounts: cores(1 + rng.Int64N(3)),
					Priority: rng.Int32N(3)}})
				keys = append(keys, key)
			}
			c.goOn(time.Duration(rng.IntN(20)) * time.Second)
		}
		c.schedule()
		answers, err := Make(t.Context(), c.state(), c.learnt, keys)
		assert.NilError(t, err)
		at := c.now
		c.goOn(24 * time.Hour)
		for _, key := range keys {
			a := answers[key]
			if a.Code == NotPending {
				continue
			}
			start, started := c.starts[key]
			if !started {
				assert.Equal(t, a.Code, NeverAsThingsAre, "seed %d: %s", seed, key)
				continue
			}
			waited++
			assert.Equal(t, a.P50, start.Sub(at), "seed %d: %s", seed, key)
		}
	}
	assert.Assert(t, waited > 300, "%d", waited)
}

// A forecast about the last of 1,000 asks that wait in a full partition with 1,000 nodes and 10,000 allocations.
func BenchmarkForecast(b *testing.B) {
	c := newCluster(b, twoLeaves)
	c.life = func(app objects.AppID) time.Duration { return time.Duration(len(app)) * time.Minute }
	for i := range 1000 {
		c.node(objects.NodeID(fmt.Sprint("n", i)), 10)
	}
	for i := range 100 {
		id := objects.AppID(fmt.Sprint("app-", strings.Repeat("x", i), i))
		c.app(id, []string{"root.a", "root.b"}[i%2], nil)
		for j := range 110 {
			c.ask(id, objects.AllocationKey(fmt.Sprint(id, "-", j)), 1)
		}
	}
	c.schedule()
	st, f := c.state(), learntOf("default")
	var last objects.AllocationKey
	for _, x := range newOriginal(st, f.ValueOf, nil).asks {
		last = x.Ask.Key
	}
	b.ReportAllocs()
	for b.Loop() {
		answers, err := Make(b.Context(), st, f, []objects.AllocationKey{last})
		assert.NilError(b, err)
		a := answers[last]
		assert.Equal(b, a.Code, Expected, "%v", a)
	}
}
