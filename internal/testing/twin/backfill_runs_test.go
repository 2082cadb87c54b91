package twin

import (
	"fmt"
	"testing"
	"time"

	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/gangs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

const backfillConfig = `
disruptionbudgets: [{namespace: default, name: b, selector: {matchLabels: {app: protected}}, maxUnavailable: 1}]
partitions: [{name: default, queues: [{name: root, submitacl: '*', properties: {runtime.enforce: true,
  runtime.grace: 1s}, queues: [
  {name: a, resources: {max: {vcore: 24m}}},
  {name: b, maxapplications: 2, properties: {preemption.policy: disabled}},
  {name: c, properties: {application.sort.policy: stateaware, runtime.default: 20s}},
  {name: d, properties: {runtime.enforce: false}}]}]}]`

// backfillRun is the script of a run on a few nodes, with large asks or gangs that wait for a node on which everything
// has a bound, and small asks that might use it until then.
type backfillRun struct {
	*script
	apps []objects.AppID
	asks []*objects.Ask
}

// backfillRunOf returns a run where one in gangs of the applications is a gang; 0: none is.
func backfillRunOf(oneIn int) runKind {
	return func(t *testing.T, seed uint64) randomrun.Run {
		s := &backfillRun{script: newScript(t, backfillConfig, seed, 90)}
		s.Oracle = pick(s.script, randomrun.NoOracle, randomrun.NoOracle, randomrun.RejectSome)
		s.Partition.PreemptionEnabled = s.OneIn(3)
		s.Partition.Reservation = s.reservation()
		for _, n := range []objects.NodeID{"n1", "n2", "n3"} {
			s.add(0, scheduler.AddNode{Node: n, Total: vcores(10), Schedulable: true})
		}
		for i, queue := range []objects.QueuePath{"root.a", "root.b", "root.c", "root.a", "root.b", "root.d"} {
			app := scheduler.AddApplication{App: objects.AppID(fmt.Sprint("app", i)), Queue: string(queue),
				User: security.User{Name: "u"}}
			if oneIn > 0 && i%oneIn == 0 {
				app.Gang = gangs.Spec{Style: gangs.Soft, Timeout: time.Hour,
					Virtual: []gangs.VirtualGroup{{Name: "g", MinMember: 2 + s.IntN(2)}}}
			}
			s.apps = append(s.apps, app.App)
			s.add(0, app)
		}
		for len(s.Steps) < stepsPerRun {
			s.scene(oneIn)
			s.schedule(pick(s.script, 0, 300*time.Millisecond, 1200*time.Millisecond), pick(s.script, 2, 10, 10))
		}
		return s.Run
	}
}

func (s *backfillRun) reservation() configs.Reservation {
	return configs.Reservation{
		Enabled: !s.OneIn(10), Delay: pick(s.script, 0, time.Second),
		Timeout:     pick(s.script, 3*time.Second, 10*time.Second, time.Hour),
		NodePercent: pick(s.script, 1, 70, 100), Backfill: pick(s.script, 1, 1, 1, configs.BackfillOff),
		BackfillAsks: pick(s.script, 1, 3, 64), BackfillNodes: pick(s.script, 1, 2, 64),
	}
}

// scene adds the commands of one thing that happens.
func (s *backfillRun) scene(oneIn int) {
	node := func() objects.NodeID { return pick[objects.NodeID](s.script, "n1", "n2", "n3") }
	switch x := s.IntN(40); {
	case x < 5:
		s.wait(oneIn)
	case x < 10: // fills nodes for a while
		for range 1 + s.IntN(4) {
			s.ask(3+s.IntN(3), "20s", "2m", "5m", "10m", "20m")
		}
	case x < 15: // waits for a node
		s.ask(7+s.IntN(4), "2m", "10m")
	case x < 20 && oneIn > 0:
		s.gang(oneIn)
	case x < 30: // might be backfilled
		for range 1 + s.IntN(4) {
			s.ask(1+s.IntN(4), "1s", "5s", "15s", "1m", "5m", "10m")
		}
	case x < 36 && len(s.asks) > 0:
		for range 1 + s.IntN(3) {
			ask := s.asks[max(0, len(s.asks)-1-s.IntN(15))]
			s.add(100*time.Millisecond, scheduler.Release{App: ask.App, Key: ask.Key, Type: scheduler.StoppedByRM})
		}
	case x == 36:
		s.add(time.Second, scheduler.Release{App: s.apps[s.IntN(len(s.apps))], Type: scheduler.StoppedByRM})
	case x == 37:
		s.add(0, pick[scheduler.Command](s.script, scheduler.SetCapacity{Node: node(), Total: vcores(7 + s.IntN(5))},
			scheduler.ReportForeign{Foreign: objects.Foreign{Key: "f", Node: node(), Amounts: vcores(s.IntN(3))}},
			scheduler.RemoveNode{Node: node()}, scheduler.SetSchedulable{Node: node(), Schedulable: s.OneIn(2)}))
	case x == 38:
		s.add(0, scheduler.AddNode{Node: node(), Total: vcores(10), Schedulable: true})
	default:
		p := s.Partition
		p.Reservation = s.reservation()
		s.add(0, scheduler.UseConfig{Partition: p})
	}
}

// wait empties the nodes, fills a part of each, has something large wait for one, and then something small. Often what
// was there first ends early.
func (s *backfillRun) wait(oneIn int) {
	for _, app := range s.apps {
		s.add(0, scheduler.Release{App: app, Type: scheduler.StoppedByRM})
	}
	first := len(s.asks)
	for range 4 + s.IntN(3) {
		s.ask(2+s.IntN(3), "2m", "5m", "10m", "20m")
	}
	s.schedule(0, 10)
	if oneIn > 0 && s.OneIn(2) {
		s.gang(oneIn)
	} else {
		s.ask(8+s.IntN(3), "2m", "10m")
	}
	s.schedule(0, 10)
	s.schedule(1200*time.Millisecond, 10)
	for range 2 + s.IntN(4) {
		s.ask(1+s.IntN(4), "1s", "15s", "1m", "5m", "10m")
	}
	s.schedule(time.Second, 10)
	for _, ask := range s.asks[first : first+pick(s.script, 0, 2, 4)] {
		s.add(0, scheduler.Release{App: ask.App, Key: ask.Key, Type: scheduler.StoppedByRM})
	}
}

// gang submits members of a gang.
func (s *backfillRun) gang(oneIn int) {
	app := s.apps[s.IntN(len(s.apps)/oneIn)*oneIn]
	for range 2 + s.IntN(2) {
		s.submit(&objects.Ask{App: app, Amounts: vcores(5 + s.IntN(5)),
			Details: &objects.AskDetails{TaskGroup: "g", Tags: s.tags("2m", "10m")}})
	}
}

// ask submits an ask with one of some bounds.
func (s *backfillRun) ask(vcore int, bounds ...string) {
	ask := &objects.Ask{App: s.apps[s.IntN(len(s.apps)-pick(s.script, 0, 1, 1, 1))], Amounts: vcores(vcore),
		Priority: int32(s.IntN(2)),
		Policy:   objects.PolicySent | objects.PolicyAllowPreemptOther | objects.PolicyAllowPreemptSelf,
		Details:  &objects.AskDetails{Tags: s.tags(bounds...)}}
	switch {
	case s.OneIn(15):
		ask.Policy = objects.PolicySent
	case s.OneIn(15):
		ask.Details.RequiredNode = pick[objects.NodeID](s.script, "n1", "n2", "n3")
	}
	s.submit(ask)
}

// submit submits an ask of a new key.
func (s *backfillRun) submit(ask *objects.Ask) {
	ask.Key = objects.AllocationKey(fmt.Sprint("k", len(s.asks)))
	s.asks = append(s.asks, ask)
	s.add(0, scheduler.SubmitAsk{Ask: ask})
}

// tags returns one of some bounds, and rarely what has to do with backfill.
func (s *backfillRun) tags(bounds ...string) map[string]string {
	tags := map[string]string{"canopy.scheduler/max-run-time": bounds[s.IntN(len(bounds))]}
	switch s.IntN(40) {
	case 0:
		tags["canopy.scheduler/backfill"] = pick(s.script, "true", "false", "perhaps")
	case 1:
		tags["kubernetes.io/label/app"] = "protected"
	case 2:
		delete(tags, "canopy.scheduler/max-run-time")
	}
	return tags
}

// observeBackfill counts what is backfilled, and what is released for a reserved ask.
func observeBackfill(_ *testing.T, core *scheduler.Core, seen map[string]int) stepObserver {
	return func(randomrun.Step) func([]scheduler.Effect) {
		before := core.BackfillCounts()
		return func([]scheduler.Effect) {
			seen["backfilled"] += int(core.BackfillCounts().Placed - before.Placed)
			seen["released"] += int(core.BackfillCounts().Released - before.Released)
		}
	}
}

// Core and twin, which tells the law of RES-12 as it is, agree about what is backfilled beside reservations of asks,
// and what is released for them.
func TestRandomRuns_Backfill(t *testing.T) {
	runs, seen := testscale.Runs(300), map[string]int{}
	agree(t, 0, runs, backfillRunOf(0), observeBackfill, seen)
	checkOften(t, runs, seen, map[string]int{"backfilled": runs, "released": runs / 10})
}

// Likewise about gangs.
func TestRandomRuns_BackfillOfGangs(t *testing.T) {
	runs, seen := testscale.Runs(300), map[string]int{}
	agree(t, 0, runs, backfillRunOf(3), observeBackfill, seen)
	checkOften(t, runs, seen, map[string]int{"backfilled": runs, "released": runs / 10})
}
