package twin

import (
	"fmt"
	"testing"
	"time"

	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
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
	s := newScript(t, reservationConfig, seed, 61)
	s.Oracle = pick(s, randomrun.NoOracle, randomrun.NoOracle, randomrun.RejectSome, randomrun.RejectMost)
	s.Shapes = pick(s, feasibility.DefaultShapes, feasibility.DefaultShapes, 0, 2)
	settings := func() configs.Reservation {
		return configs.Reservation{
			Enabled: s.IntN(12) > 0, Delay: pick(s, 0, time.Second, 5*time.Second),
			Timeout:     pick(s, 10*time.Second, time.Minute, time.Hour),
			NodePercent: pick(s, 1, 50, 100),
		}
	}
	s.Partition.Reservation = settings()
	s.Partition.PreemptionEnabled = s.IntN(2) == 0
	size := func(vcore, memory int) resources.Amounts {
		return resources.FromMap(map[string]resources.Quantity{"vcore": resources.Quantity(vcore),
			"memory": resources.Quantity(memory)})
	}
	nodes := []objects.NodeID{"n1", "n2", "n3", "n4"}
	for _, n := range nodes {
		s.add(0, scheduler.AddNode{Node: n, Total: size(10, 10+s.IntN(4)), Schedulable: true})
	}
	apps := []objects.AppID{"app0", "app1", "app2", "app3", "app4", "app5"}
	var asks []*objects.Ask
	for len(s.Steps) < stepsPerRun {
		after := time.Duration(s.IntN(3)) * 700 * time.Millisecond
		switch x := s.IntN(50); {
		case x < 17:
			a := &objects.Ask{
				Key: objects.AllocationKey(fmt.Sprint("k", len(asks))), App: apps[s.IntN(len(apps))],
				Amounts: size(1+s.IntN(3), s.IntN(4)), Priority: int32(s.IntN(3)),
				Policy: objects.PolicySent | objects.PolicyAllowPreemptSelf | pick(s, 0,
					objects.PolicyAllowPreemptOther),
			}
			if s.IntN(3) == 0 {
				a.Amounts = size(7+s.IntN(4), s.IntN(11))
			}
			if s.IntN(8) == 0 {
				a.Details = &objects.AskDetails{RequiredNode: pick(s, nodes...)}
			}
			asks = append(asks, a)
			s.add(after, scheduler.SubmitAsk{Ask: a})
		case x < 28 && len(asks) > 0:
			a := asks[s.IntN(len(asks))]
			s.add(after,
				scheduler.Release{App: a.App, Key: a.Key,
					Type: pick(s, scheduler.StoppedByRM, scheduler.PreemptedByScheduler)})
		case (x == 28 || x == 42) && len(asks) > 0:
			resized := *asks[max(0, len(asks)-1-s.IntN(8))] // likely to be pending
			resized.Amounts = size(1+s.IntN(9), 3)
			s.add(after, scheduler.SubmitAsk{Ask: &resized})
		case x == 29:
			s.add(after, scheduler.RemoveNode{Node: pick(s, nodes...)})
		case x == 30:
			s.add(after, scheduler.SetSchedulable{Node: pick(s, nodes...), Schedulable: s.IntN(3) > 0})
		case x == 31:
			s.add(after, scheduler.SetCapacity{Node: pick(s, nodes...), Total: size(6+s.IntN(6), 12)})
		case x == 32:
			s.add(after,
				scheduler.ReportForeign{Foreign: objects.Foreign{Key: "f", Node: pick(s, nodes...),
					Amounts: size(s.IntN(4), 1)}})
		case x == 33:
			s.add(after, scheduler.RemoveApplication{App: pick(s, apps...)})
		case x < 38:
			s.add(after, scheduler.AddNode{Node: pick(s, nodes...), Total: size(10, 12), Schedulable: true})
		case x < 41 || len(asks) < 4:
			i := s.IntN(len(apps))
			s.add(after,
				scheduler.AddApplication{App: apps[i], Queue: []string{"root.a", "root.b", "root.c"}[i%3],
					User: security.User{Name: "u"}})
		case x == 41:
			p := s.Partition
			p.Reservation = settings()
			s.add(after, scheduler.UseConfig{Partition: p})
		default:
			s.schedule(after, pick(s, 1, 3, 10, 10))
		}
	}
	return s.Run
}

// Core and twin agree about clusters that are full and in which most asks are of two kinds, large and small. Every end
// of a reservation happens.
func TestRandomRuns_Reservations(t *testing.T) {
	runs, seen := testscale.Runs(300), map[string]int{}
	agree(t, 1, runs, reservingRun, observeReservations, seen)
	least := map[string]int{}
	for end := objects.ReservationPlaced; end <= objects.ReservationDisabled; end++ {
		// The answers of these resource managers do not change, so none is refused what it was allowed to reserve.
		if end != objects.ReservationRefused {
			least[end.String()] = max(1, runs/100)
		}
	}
	checkOften(t, runs, seen, least)
}

// observeReservations counts why reservations end.
func observeReservations(_ *testing.T, _ *scheduler.Core, seen map[string]int) stepObserver {
	return func(randomrun.Step) func([]scheduler.Effect) {
		return func(effects []scheduler.Effect) {
			for _, e := range effects {
				if e, ok := e.(scheduler.Event); ok && e.Kind == scheduler.EventReservationEnded {
					seen[e.ReservationEnd.String()]++
				}
			}
		}
	}
}

// withReservations switches reservations on for a quarter of the seeds, and off for the others.
func withReservations(p *configs.Partition, seed uint64) {
	p.Reservation = configs.Reservation{
		Enabled: seed%4 == 2, Delay: time.Duration(seed/4%2) * time.Second,
		Timeout: time.Duration(1+seed/8%4) * 10 * time.Second, NodePercent: 50,
	}
}
