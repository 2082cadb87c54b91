package twin

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/gangs"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Random runs in which applications declare gangs.
func TestRandomRuns_Gangs(t *testing.T) {
	for seed := range uint64(testscale.Runs(400)) {
		s := randomrun.GangRun(seed+1, stepsPerRun)
		if f := Execute(s); f != nil {
			shorter, g := Shorten(s, f, Execute)
			t.Fatalf("seed %d: %v\nin short:\n%s\n%v", s.Seed, f, shorter, g)
		}
	}
}

const gangConfig = `partitions: [{name: default, preemption: {enabled: true},
  limits: [{limit: u, users: [u], maxresources: {vcore: 30m}}], queues: [{name: root, submitacl: '*', queues: [
  {name: a, resources: {guaranteed: {vcore: 6m}, max: {vcore: 20m}},
   properties: {preemption.delay: 1s, preemption.gang: enabled}},
  {name: b, maxapplications: 2, properties: {preemption.priority: leaf}}]}]}]`

// gangRun returns a random run of gangs on a few nodes. The resource manager releases placeholders in the order in
// which it has sent them, most of them when the core has ordered it.
func gangRun(t *testing.T, seed uint64) randomrun.Run { return gangRunOn(t, seed, false) }

// gangRunOn is gangRun; losesNodes: nodes come and go all the time, and the RM rejects some, so that asks replace
// placeholders of other nodes.
func gangRunOn(t *testing.T, seed uint64, losesNodes bool) randomrun.Run {
	conf, problems := queuesyaml.Load([]byte(gangConfig))
	assert.Assert(t, conf != nil, "%v", problems)
	withReservations(conf, seed)
	rng := rand.New(rand.NewPCG(seed, 57))
	one := &randomrun.Generator{Rand: rng}
	s := randomrun.Run{
		Seed: seed, Partition: conf.Partitions[0],
		Oracle:    randomrun.Pick(one, randomrun.NoOracle, randomrun.AcceptAll, randomrun.RejectSome),
		Lifetimes: lifecycle.DefaultLifetimes(), Shapes: feasibility.DefaultShapes, MaxCandidates: 1 << 30,
	}
	add := func(after time.Duration, c scheduler.Command) {
		s.Steps = append(s.Steps, randomrun.Step{After: after, Command: c})
	}
	vcore := func(n int) resources.Amounts {
		return resources.FromMap(map[string]resources.Quantity{"vcore": resources.Quantity(n)})
	}
	nodes := []objects.NodeID{"n1", "n2", "n3", "n4"}
	for _, n := range nodes {
		add(0, scheduler.AddNode{Node: n, Total: vcore(9), Schedulable: true})
	}
	type placeholder struct {
		app objects.AppID
		key objects.AllocationKey
	}
	var apps []objects.AppID
	var placeholders []placeholder
	keys, kinds := 0, 40
	if losesNodes {
		kinds, s.Oracle = 50, randomrun.RejectSome
	}
	for len(s.Steps) < stepsPerRun {
		after := time.Duration(rng.IntN(3)) * time.Second / 2
		key := objects.AllocationKey(fmt.Sprint("k", keys))
		group := randomrun.Pick(one, "g", "g", "h")
		switch x := rng.IntN(kinds); {
		case len(apps) == 0 || x < 1:
			id := objects.AppID(fmt.Sprint("app", len(apps)))
			apps = append(apps, id)
			add(after, scheduler.AddApplication{
				App: id, Queue: randomrun.Pick(one, "root.a", "root.b"), User: security.User{Name: randomrun.Pick(one, "u", "v")},
				Gang: gangs.Spec{Style: randomrun.Pick(one, gangs.Soft, gangs.Hard),
					Timeout: time.Duration(2+rng.IntN(40)) * time.Second, Requested: vcore(3 * rng.IntN(4))},
			})
		case x < 15:
			keys++
			app := apps[max(0, len(apps)-1-rng.IntN(2))]
			ask := &objects.Ask{
				Key: key, App: app, Amounts: vcore(randomrun.Pick(one, 3, 3, 3, 3, 3, 2, 2, 4)), Placeholder: rng.IntN(2) == 0,
				Policy:   randomrun.Pick(one, 0, objects.PolicySent|objects.PolicyAllowPreemptOther|objects.PolicyAllowPreemptSelf),
				Priority: int32(rng.IntN(2)),
			}
			ask.Details = &objects.AskDetails{TaskGroup: group}
			if !ask.Placeholder && one.OneIn(5) {
				ask.Details.TaskGroup = ""
			}
			if ask.Placeholder {
				placeholders = append(placeholders, placeholder{app, key})
			}
			add(after, scheduler.SubmitAsk{Ask: ask})
		case x < 24 && len(placeholders) > 0:
			i := min(rng.IntN(4), len(placeholders)-1)
			p := placeholders[i]
			placeholders = append(placeholders[:i:i], placeholders[i+1:]...)
			add(after,
				scheduler.Release{App: p.app, Key: p.key,
					Type: randomrun.Pick(one, scheduler.PlaceholderReplaced, scheduler.PlaceholderReplaced, scheduler.TimedOut,
						scheduler.StoppedByRM)})
		case x < 26 && keys > 0:
			add(after,
				scheduler.Release{App: apps[rng.IntN(len(apps))], Key: objects.AllocationKey(fmt.Sprint("k", rng.IntN(keys))),
					Type: scheduler.StoppedByRM})
		case x == 26:
			add(after, scheduler.RemoveApplication{App: apps[rng.IntN(len(apps))]})
		case x == 27:
			add(after,
				scheduler.Release{App: apps[rng.IntN(len(apps))],
					Type: randomrun.Pick(one, scheduler.StoppedByRM, scheduler.TimedOut)})
		case x == 28 || x >= 45:
			add(after, scheduler.RemoveNode{Node: randomrun.Pick(one, nodes...)})
		case x < 31 || x >= 40:
			add(after, scheduler.AddNode{Node: randomrun.Pick(one, nodes...), Total: vcore(9), Schedulable: true})
		case x < 33:
			add(after, scheduler.SetSchedulable{Node: randomrun.Pick(one, nodes...), Schedulable: rng.IntN(2) > 0})
		case x == 33:
			add(after, scheduler.SetCapacity{Node: randomrun.Pick(one, nodes...), Total: vcore(6 + rng.IntN(6))})
		default:
			s.Steps = append(s.Steps, randomrun.Step{After: after, Budget: randomrun.Pick(one, 1, 3, 10)})
		}
	}
	return s
}

// Core and twin agree about gangs in which everything happens: replacement in place and on other nodes, placeholders
// that are too small, both ends of the timeout, and nodes that go in between. No placeholder is released twice for
// that, and none is replaced after it has timed out.
func TestRandomRuns_GangsAreReplaced(t *testing.T) {
	runs := testscale.Runs(300)
	seen := map[string]int{}
	for i := range uint64(runs + runs/5) {
		seed, losesNodes := i, i >= uint64(runs)
		s := gangRunOn(t, seed, losesNodes)
		if f := Execute(s); f != nil {
			shorter, g := Shorten(s, f, Execute)
			t.Fatalf("seed %d, loses nodes %t: %v\nin short:\n%s\n%v", seed, losesNodes, f, shorter, g)
		}
		countGangEffects(t, s, seen)
	}
	t.Logf("%d runs, and %d that lose nodes: %v", runs, runs/5, seen)
	for what, least := range map[string]int{
		"replaced": 3 * runs, "placed in the place of a placeholder": runs, "elsewhere": runs / 30, "too small": runs / 2,
		"released by a timeout":       runs / 2,
		"asks cancelled by a timeout": runs, "Resuming": runs / 4, "Failing": runs / 4, "Failed": runs / 4,
		"Running, complete":              runs / 4,
		"placed when a node was removed": runs / 60,
	} {
		assert.Check(t, seen[what] >= least, "%s: %d times in %d runs, at least %d are due", what, seen[what], runs, least)
	}
}

// countGangEffects executes a run on a core and counts what happens to gangs.
func countGangEffects(t *testing.T, s randomrun.Run, seen map[string]int) {
	core, now := scheduler.NewWith(s.Partition, s.Oracle.Oracle(),
		objects.Options{Shapes: s.Shapes, Lifetimes: s.Lifetimes, Evaluations: 1 << 30}), randomrun.StartTime()
	ending := map[objects.AllocationKey]bool{}
	for _, step := range s.Steps {
		now = now.Add(step.After)
		nodeOf := map[objects.AllocationKey]objects.NodeID{}
		for n := range core.Partition().EachNode {
			for x := range n.EachAllocation {
				nodeOf[x.Key()] = n.ID()
			}
		}
		effects, _ := applyStep(step, core, now)
		for _, e := range effects {
			switch e := e.(type) {
			case scheduler.Released:
				if e.Type != scheduler.PlaceholderReplaced && e.Type != scheduler.TimedOut {
					delete(ending, e.Key)
					continue
				}
				assert.Assert(t, !ending[e.Key], "seed %d: %s ends twice", s.Seed, e.Key)
				ending[e.Key] = true
				switch {
				case e.Type == scheduler.PlaceholderReplaced:
					seen["replaced"]++
				case e.Message == "cancel placeholder: resource incompatible":
					seen["too small"]++
				default:
					seen["released by a timeout"]++
				}
			case scheduler.Allocated:
				if r, ok := step.Command.(scheduler.Release); ok {
					seen["placed in the place of a placeholder"]++
					seen["elsewhere"] += boolToInt(nodeOf[r.Key] != e.Node)
				} else if _, ok := step.Command.(scheduler.RemoveNode); ok {
					seen["placed when a node was removed"]++
				}
			case scheduler.AskTimedOut:
				seen["asks cancelled by a timeout"]++
			case scheduler.ApplicationUpdated:
				if e.Reason == lifecycle.ReasonGangAllocated {
					seen["Running, complete"]++
				}
				seen[e.State.String()]++
			}
		}
	}
}
