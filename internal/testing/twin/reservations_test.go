package twin

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

const reservationConfig = `partitions: [{name: default, queues: [{name: root, submitacl: '*', queues: [
  {name: a, resources: {guaranteed: {vcore: 8m}, max: {vcore: 30m}}, properties: {preemption.delay: 10s}},
  {name: b, properties: {preemption.priority: leaf, priority.preemption.delay: 5s}},
  {name: c, maxapplications: 1, properties: {application.sort.policy: stateaware}}]}]}]`

// reservingRun returns a random run on a few nodes that small asks keep full, so that large asks reserve them.
func reservingRun(t *testing.T, seed uint64) randomrun.Run {
	conf, problems := queuesyaml.Load([]byte(reservationConfig))
	assert.Assert(t, conf != nil, "%v", problems)
	rng := rand.New(rand.NewPCG(seed, 61))
	one := &randomrun.Generator{Rand: rng}
	s := randomrun.Run{
		Seed: seed, Partition: conf.Partitions[0],
		Oracle:    randomrun.Pick(one, randomrun.NoOracle, randomrun.AcceptAll, randomrun.RejectSome, randomrun.RejectMost),
		Lifetimes: lifecycle.DefaultLifetimes(),
		Shapes:    randomrun.Pick(one, feasibility.DefaultShapes, feasibility.DefaultShapes, 0, 2), MaxCandidates: 1 << 30,
	}
	settings := func() configs.Reservation {
		return configs.Reservation{
			Enabled: rng.IntN(12) > 0, Delay: randomrun.Pick(one, 0, time.Second, 5*time.Second),
			Timeout:     randomrun.Pick(one, 10*time.Second, time.Minute, time.Hour),
			NodePercent: randomrun.Pick(one, 1, 50, 100),
		}
	}
	s.Partition.Reservation = settings()
	s.Partition.PreemptionEnabled = rng.IntN(2) == 0
	add := func(after time.Duration, c scheduler.Command) {
		s.Steps = append(s.Steps, randomrun.Step{After: after, Command: c})
	}
	size := func(vcore, memory int) resources.Amounts {
		return resources.FromMap(map[string]resources.Quantity{"vcore": resources.Quantity(vcore),
			"memory": resources.Quantity(memory)})
	}
	nodes := []objects.NodeID{"n1", "n2", "n3", "n4"}
	for _, n := range nodes {
		add(0, scheduler.AddNode{Node: n, Total: size(10, 10+rng.IntN(4)), Schedulable: true})
	}
	apps := []objects.AppID{"app0", "app1", "app2", "app3", "app4", "app5"}
	var asks []*objects.Ask
	for len(s.Steps) < stepsPerRun {
		after := time.Duration(rng.IntN(3)) * 700 * time.Millisecond
		switch x := rng.IntN(50); {
		case x < 17:
			a := &objects.Ask{
				Key: objects.AllocationKey(fmt.Sprint("k", len(asks))), App: apps[rng.IntN(len(apps))],
				Amounts: size(1+rng.IntN(3), rng.IntN(4)), Priority: int32(rng.IntN(3)),
				Policy: objects.PolicySent | objects.PolicyAllowPreemptSelf | randomrun.Pick(one, 0,
					objects.PolicyAllowPreemptOther),
			}
			if rng.IntN(3) == 0 {
				a.Amounts = size(7+rng.IntN(4), rng.IntN(11))
			}
			if rng.IntN(8) == 0 {
				a.Details = &objects.AskDetails{RequiredNode: randomrun.Pick(one, nodes...)}
			}
			asks = append(asks, a)
			add(after, scheduler.SubmitAsk{Ask: a})
		case x < 28 && len(asks) > 0:
			a := asks[rng.IntN(len(asks))]
			add(after,
				scheduler.Release{App: a.App, Key: a.Key,
					Type: randomrun.Pick(one, scheduler.StoppedByRM, scheduler.PreemptedByScheduler)})
		case (x == 28 || x == 42) && len(asks) > 0:
			resized := *asks[max(0, len(asks)-1-rng.IntN(8))] // likely to be pending
			resized.Amounts = size(1+rng.IntN(9), 3)
			add(after, scheduler.SubmitAsk{Ask: &resized})
		case x == 29:
			add(after, scheduler.RemoveNode{Node: randomrun.Pick(one, nodes...)})
		case x == 30:
			add(after, scheduler.SetSchedulable{Node: randomrun.Pick(one, nodes...), Schedulable: rng.IntN(3) > 0})
		case x == 31:
			add(after, scheduler.SetCapacity{Node: randomrun.Pick(one, nodes...), Total: size(6+rng.IntN(6), 12)})
		case x == 32:
			add(after,
				scheduler.ReportForeign{Foreign: objects.Foreign{Key: "f", Node: randomrun.Pick(one, nodes...),
					Amounts: size(rng.IntN(4), 1)}})
		case x == 33:
			add(after, scheduler.RemoveApplication{App: randomrun.Pick(one, apps...)})
		case x < 38:
			add(after, scheduler.AddNode{Node: randomrun.Pick(one, nodes...), Total: size(10, 12), Schedulable: true})
		case x < 41 || len(asks) < 4:
			i := rng.IntN(len(apps))
			add(after,
				scheduler.AddApplication{App: apps[i], Queue: []string{"root.a", "root.b", "root.c"}[i%3],
					User: security.User{Name: "u"}})
		case x == 41:
			p := s.Partition
			p.Reservation = settings()
			add(after, scheduler.UseConfig{Partition: p})
		default:
			s.Steps = append(s.Steps, randomrun.Step{After: after, Budget: randomrun.Pick(one, 1, 3, 10, 10)})
		}
	}
	return s
}

// Core and twin agree about clusters that are full and in which most asks are of two kinds, large and small. Every end
// of a reservation happens.
func TestRandomRuns_Reservations(t *testing.T) {
	runs := testscale.Runs(300)
	ends := map[objects.ReservationEnd]int{}
	for seed := range uint64(runs) {
		s := reservingRun(t, seed+1)
		if f := Execute(s); f != nil {
			shorter, g := Shorten(s, f, Execute)
			t.Fatalf("seed %d: %v\nin short:\n%s\n%v", s.Seed, f, shorter, g)
		}
		core := scheduler.NewWith(s.Partition, s.Oracle.Oracle(),
			objects.Options{Shapes: 70, Lifetimes: s.Lifetimes, Evaluations: 1 << 30})
		now := randomrun.StartTime()
		for _, b := range s.Steps {
			now = now.Add(b.After)
			effects, _ := applyStep(b, core, now)
			for _, e := range effects {
				if e, ok := e.(scheduler.Event); ok && e.Kind == scheduler.EventReservationEnded {
					ends[e.ReservationEnd]++
				}
			}
		}
	}
	t.Log(ends)
	for end := objects.ReservationPlaced; end <= objects.ReservationDisabled; end++ {
		// The answers of these resource managers do not change, so none is refused what it was allowed to reserve.
		if end != objects.ReservationRefused && ends[end] < max(1, runs/100) {
			t.Errorf("%d reservations in %d runs ended because of: %s", ends[end], runs, end)
		}
	}
}

// withReservations switches reservations on for a quarter of the seeds, and off for the others.
func withReservations(conf *configs.Config, seed uint64) {
	conf.Partitions[0].Reservation = configs.Reservation{
		Enabled: seed%4 == 2, Delay: time.Duration(seed/4%2) * time.Second,
		Timeout: time.Duration(1+seed/8%4) * 10 * time.Second, NodePercent: 50,
	}
}
