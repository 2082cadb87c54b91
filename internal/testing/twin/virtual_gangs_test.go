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

// virtualGangRun returns a random run of gangs with virtual placeholders, and some other asks, on a few nodes.
func virtualGangRun(t *testing.T, seed uint64) randomrun.Run {
	conf, problems := queuesyaml.Load([]byte(gangConfig))
	assert.Assert(t, conf != nil, "%v", problems)
	withReservations(conf, seed)
	conf.Partitions[0].Reservation.Enabled = seed%2 == 0
	rng := rand.New(rand.NewPCG(seed, 68))
	one := &randomrun.Generator{Rand: rng}
	s := randomrun.Run{
		Seed: seed, Partition: conf.Partitions[0],
		Oracle:    randomrun.Pick(one, randomrun.NoOracle, randomrun.NoOracle, randomrun.AcceptAll, randomrun.RejectSome),
		Lifetimes: lifecycle.DefaultLifetimes(), Shapes: randomrun.Pick(one, feasibility.DefaultShapes, 2),
		MaxCandidates: 1 << 30,
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
	var apps []objects.AppID
	keys := 0
	anyKey := func() objects.AllocationKey { return objects.AllocationKey(fmt.Sprint("k", max(0, keys-rng.IntN(25)))) }
	for len(s.Steps) < stepsPerRun*2/3 {
		after := time.Duration(rng.IntN(3)) * time.Second / 2
		switch x := rng.IntN(46); {
		case len(apps) == 0 || x < 3:
			id := objects.AppID(fmt.Sprint("app", len(apps)))
			apps = append(apps, id)
			gang := gangs.Spec{Style: randomrun.Pick(one, gangs.Soft, gangs.Hard),
				Timeout: time.Duration(randomrun.Pick(one, 2+rng.IntN(20), 100)) * time.Second}
			if !one.OneIn(4) {
				gang.Virtual = []gangs.VirtualGroup{{Name: "g", MinMember: 1 + rng.IntN(3)}}
				if one.OneIn(2) {
					gang.Virtual = append(gang.Virtual, gangs.VirtualGroup{Name: "h", MinMember: 1 + rng.IntN(2)})
				}
			}
			add(after,
				scheduler.AddApplication{App: id, Queue: randomrun.Pick(one, "root.a", "root.b"),
					User: security.User{Name: randomrun.Pick(one, "u", "v")}, Gang: gang})
		case x < 20:
			app := apps[max(0, len(apps)-1-rng.IntN(2))]
			groups := []string{"g", "g", "h", "", randomrun.Pick(one, "g", "h")}
			for _, group := range groups[rng.IntN(3) : 3+rng.IntN(3)] { // the members of a gang come together
				keys++
				ask := &objects.Ask{
					Key: objects.AllocationKey(fmt.Sprint("k", keys)), App: app, Amounts: vcore(randomrun.Pick(one, 3, 3, 2, 4, 5, 7)),
					Placeholder: one.OneIn(20),
					Policy: randomrun.Pick(one, 0,
						objects.PolicySent|objects.PolicyAllowPreemptOther|objects.PolicyAllowPreemptSelf),
					Priority: int32(rng.IntN(2)),
					Details:  objects.NewAskDetails(objects.AskDetails{TaskGroup: group}),
				}
				if one.OneIn(15) {
					ask.Details = objects.NewAskDetails(objects.AskDetails{TaskGroup: "g",
						RequiredNode: randomrun.Pick(one, nodes...)})
				}
				add(0, scheduler.SubmitAsk{Ask: ask})
			}
		case x < 26:
			add(after,
				scheduler.Release{App: apps[max(0, len(apps)-1-rng.IntN(2))], Key: anyKey(),
					Type: randomrun.Pick(one, scheduler.StoppedByRM, scheduler.PreemptedByScheduler)})
		case x == 26:
			add(after, scheduler.RemoveApplication{App: apps[rng.IntN(len(apps))]})
		case x == 27 || x == 45: // resources become free for those that wait
			add(after,
				scheduler.Release{App: apps[rng.IntN(len(apps))], Scope: scheduler.OnlyAllocations, Type: scheduler.StoppedByRM})
			s.Steps = append(s.Steps, randomrun.Step{After: 2 * time.Second, Budget: 10})
		case x == 28:
			add(after, scheduler.RemoveNode{Node: randomrun.Pick(one, nodes...)})
		case x < 31:
			add(after, scheduler.AddNode{Node: randomrun.Pick(one, nodes...), Total: vcore(9), Schedulable: true})
		case x == 31:
			add(after, scheduler.SetSchedulable{Node: randomrun.Pick(one, nodes...), Schedulable: rng.IntN(2) > 0})
		case x == 32:
			add(after, scheduler.SetCapacity{Node: randomrun.Pick(one, nodes...), Total: vcore(6 + rng.IntN(6))})
		case x == 33: // a member that was placed before a restart, or a resize
			ask := &objects.Ask{Key: anyKey(), App: apps[rng.IntN(len(apps))], Amounts: vcore(1 + rng.IntN(4)),
				Details: objects.NewAskDetails(objects.AskDetails{TaskGroup: "g"})}
			if one.OneIn(2) {
				add(after, scheduler.SubmitAsk{Ask: ask})
			} else {
				add(after, scheduler.ReportAllocation{Ask: ask, Node: randomrun.Pick(one, nodes...)})
			}
		default:
			s.Steps = append(s.Steps, randomrun.Step{After: after, Budget: randomrun.Pick(one, 1, 3, 10)})
		}
	}
	return s
}

// Core and twin agree about gangs with virtual placeholders, and all of the members that are placed together are placed
// in one run of decisions (GAN-20).
func TestRandomRuns_VirtualGangs(t *testing.T) {
	runs := testscale.Runs(300)
	seen := map[string]int{}
	for seed := range uint64(runs) {
		s := virtualGangRun(t, seed)
		if f := Execute(s); f != nil {
			shorter, g := Shorten(s, f, Execute)
			t.Fatalf("seed %d: %v\nin short:\n%s\n%v", seed, f, shorter, g)
		}
		countVirtualGangs(t, s, seen)
	}
	t.Logf("%d runs: %v", runs, seen)
	for what, least := range map[string]int{
		"placed together": runs / 2, "of two task groups": runs / 5, "refused": runs, "incomplete": runs,
		"asks cancelled by a timeout": runs / 6,
		"reserved together":           runs / 4, "with reservations": runs / 30, "Resuming": runs / 6, "Failed": runs / 6,
		"reported": runs / 30,
	} {
		assert.Check(t, seen[what] >= least, "%s: %d times in %d runs, at least %d are due", what, seen[what], runs, least)
	}
}

// countVirtualGangs executes a run on a core, checks that members are placed together, and counts what happens.
func countVirtualGangs(t *testing.T, s randomrun.Run, seen map[string]int) {
	core, now := scheduler.NewWith(s.Partition, s.Oracle.Oracle(),
		objects.Options{Shapes: s.Shapes, Lifetimes: s.Lifetimes, Evaluations: 1 << 30}), randomrun.StartTime()
	for _, step := range s.Steps {
		now = now.Add(step.After)
		waiting := map[objects.AppID]map[string]int{} // how many members are placed together
		for _, a := range applicationsOf(core.Partition()) {
			if g := a.Gang(); g != nil && g.Waits() {
				waiting[a.ID()] = map[string]int{}
				for _, group := range g.Groups() {
					waiting[a.ID()][group.Name] = group.Live()
				}
				if _, incomplete := g.Incomplete(); incomplete {
					seen["incomplete"]++
				}
				seen["refused"] += boolToInt(g.Refusal() != "")
			}
		}
		reserving := core.Partition().Reservations().Gang()
		effects, _ := applyStep(step, core, now)
		if after := core.Partition().Reservations().Gang(); after != nil && after != reserving {
			seen["reserved together"]++
		}
		placed := map[objects.AppID]map[string]int{}
		for _, e := range effects {
			switch e := e.(type) {
			case scheduler.Allocated:
				if waiting[e.Ask.App][e.Ask.TaskGroup()] == 0 || e.Ask.Placeholder {
					continue
				}
				if step.Command != nil {
					seen["reported"]++
					continue
				}
				if placed[e.Ask.App] == nil {
					placed[e.Ask.App] = map[string]int{}
				}
				placed[e.Ask.App][e.Ask.TaskGroup()]++
			case scheduler.AskTimedOut:
				seen["asks cancelled by a timeout"]++
			case scheduler.ApplicationUpdated:
				seen[e.State.String()]++
			}
		}
		for _, a := range applicationsOf(core.Partition()) { // after a timeout they are placed one by one
			if g := a.Gang(); g != nil && g.Virtual() && g.Groups()[0].TimedOut > 0 {
				delete(placed, a.ID())
			}
		}
		for app, groups := range placed {
			for group, n := range waiting[app] {
				assert.Assert(t, groups[group] >= n, "seed %d: %d of %d members of task group %s of %s are placed", s.Seed,
					groups[group], n, group, app)
			}
			seen["placed together"]++
			seen["with reservations"] += boolToInt(reserving != nil && reserving.ID() == app)
			seen["of two task groups"] += boolToInt(len(waiting[app]) > 1)
		}
	}
}

// applicationsOf returns the applications of the two leaves of gangConfig.
func applicationsOf(p *objects.Partition) (apps []*objects.Application) {
	for _, path := range []objects.QueuePath{"root.a", "root.b"} {
		if q, ok := p.Queue(path); ok {
			apps = append(apps, q.Applications()...)
		}
	}
	return apps
}
