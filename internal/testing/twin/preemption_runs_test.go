package twin

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

const preemptionConfig = `partitions: [{name: default, queues: [{name: root, submitacl: '*',
  properties: {preemption.delay: 1s}, queues: [
  {name: a, resources: {guaranteed: {vcore: 6m, gpu: 4}}},
  {name: b, resources: {guaranteed: {vcore: 4m, gpu: 2}, max: {vcore: 14m}},
    properties: {quota.preemption.delay: 2s}},
  {name: c, resources: {max: {vcore: 12m, gpu: 5}}, queues: [
    {name: d, resources: {guaranteed: {gpu: 3, memory: 4}}},
    {name: e, properties: {preemption.priority: fence}}]}]}]}]`

// preemptingRun returns a random run on a few full nodes, whose queues are above their guarantee in one resource and
// lack another. Asks are for much of one and little of another.
func preemptingRun(t *testing.T, seed uint64) randomrun.Run {
	s := newScript(t, preemptionConfig, seed, 121)
	s.Partition.QuotaPreemptionEnabled = true
	s.Partition.PreemptionEnabled, s.Partition.Reservation.Enabled = true, s.IntN(4) == 0
	size := func(vcore, memory, gpu int) resources.Amounts {
		return resources.FromMap(map[string]resources.Quantity{"vcore": resources.Quantity(vcore),
			"memory": resources.Quantity(memory), "gpu": resources.Quantity(gpu)})
	}
	nodes := []objects.NodeID{"n1", "n2", "n3"}
	for _, n := range nodes {
		s.add(0, scheduler.AddNode{Node: n, Total: size(8, 8, 3+s.IntN(3)), Schedulable: true})
	}
	apps := []objects.AppID{"app0", "app1", "app2", "app3", "app4", "app5", "app6", "app7"}
	for i, id := range apps {
		s.add(0, scheduler.AddApplication{App: id, Queue: []string{"root.a", "root.b", "root.c.d", "root.c.e"}[i%4],
			User: security.User{Name: "u"}})
	}
	var asks []*objects.Ask
	for len(s.Steps) < 3*stepsPerRun/2 { // what is about young victims is rare
		after := time.Duration(s.IntN(3)) * 700 * time.Millisecond
		switch x := s.IntN(40); {
		case x < 14:
			a := &objects.Ask{
				Key: objects.AllocationKey(fmt.Sprint("k", len(asks))), App: apps[s.IntN(len(apps))],
				Amounts:  pick(s, size(1, 1, 1), size(2, 0, 1), size(3, 1, 0), size(0, 2, 1), size(1+s.IntN(5), s.IntN(3), 2)),
				Priority: int32(s.IntN(3)),
				Policy:   objects.PolicySent | objects.PolicyAllowPreemptSelf | objects.PolicyAllowPreemptOther,
			}
			asks = append(asks, a)
			s.add(after, scheduler.SubmitAsk{Ask: a})
		case x < 22 && len(asks) > 0:
			a := asks[s.IntN(len(asks))]
			s.add(after, scheduler.Release{App: a.App, Key: a.Key,
				Type: pick(s, scheduler.StoppedByRM, scheduler.PreemptedByScheduler)})
		case x == 22:
			s.add(after, scheduler.SetCapacity{Node: pick(s, nodes...), Total: size(6+s.IntN(4), 8, 2+s.IntN(4))})
		case x == 23:
			s.add(after, scheduler.UseConfig{Partition: s.Partition})
		default:
			s.schedule(after, pick(s, 1, 3, 10, 10))
		}
	}
	s.AddPreemption()
	return s.Run
}

// Core and twin agree where the settings of preemption matter all the time: queues lack one resource and are above
// their guarantee in another.
func TestRandomRuns_PreemptionSettings(t *testing.T) {
	runs, seen := testscale.Runs(80), map[string]int{}
	agree(t, 1, runs, preemptingRun, observePreemption, seen)
	checkOften(t, runs, seen, map[string]int{"preempts for what it lacks": runs / 2, "would preempt if lacking": runs,
		"needs victims beyond the guarantee": runs / 2, "victims are too young": runs, "preempted young": runs})
}

// observePreemption counts what the settings of preemption decide.
func observePreemption(_ *testing.T, core *scheduler.Core, seen map[string]int) stepObserver {
	now := randomrun.StartTime()
	return func(step randomrun.Step) func([]scheduler.Effect) {
		now = now.Add(step.After)
		return func(effects []scheduler.Effect) {
			if c, ok := step.Command.(scheduler.SubmitAsk); ok {
				e := core.ExplainWithVictims(c.Ask.Key, now.Add(time.Second))
				for _, r := range e.Entitlements {
					seen["would preempt if lacking"] += boolToInt(len(r.Lacking) > 0)
				}
				for _, r := range e.Searches {
					seen["victims are too young"] += boolToInt(r.NoPlanReasons[victim.BlockedByMinRuntime] > 0)
					seen["needs victims beyond the guarantee"] += boolToInt(r.NoPlanReasons[victim.NeedsMoreThanGuaranteed] > 0)
				}
			}
			for _, e := range effects {
				seen["preempted young"] += boolToInt(preemptedYoung(core, e, now))
				r, _ := e.(scheduler.Released)
				_, key, ok := strings.Cut(r.Message, "preempted (guarantee) for ask ")
				if !ok {
					continue
				}
				key, _, _ = strings.Cut(key, " ")
				for _, r := range core.Explain(objects.AllocationKey(key), now).Entitlements {
					seen["preempts for what it lacks"] += boolToInt(r.Entitled && len(r.Over) > 0)
				}
			}
		}
	}
}
