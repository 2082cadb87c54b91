package twin

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

const refusedConfig = `partitions: [{name: default, preemption: {enabled: true},
  queues: [{name: root, submitacl: '*', queues: [
  {name: a, resources: {guaranteed: {vcore: 8m}}, properties: {preemption.priority: leaf, preemption.delay: 1s}},
  {name: b, properties: {preemption.priority: leaf}, resources: {max: {vcore: 14m}}}]}]}]`

// refusingRun returns a random run on two full nodes: the asks of an application are of few groups, all may
// preempt, and the resource manager rejects most of them.
func refusingRun(t *testing.T, seed uint64) randomrun.Run {
	s := newScript(t, refusedConfig, seed, 43)
	withReservations(&s.Partition, seed)
	s.Oracle, s.MaxRefusals = randomrun.RejectMost, s.IntN(4)
	for _, n := range []objects.NodeID{"n1", "n2"} {
		s.add(0, scheduler.AddNode{Node: n, Total: vcores(8), Schedulable: true})
	}
	app := func(i int) objects.AppID { return objects.AppID(fmt.Sprint("app", i)) }
	for i, leaf := range []string{"root.a", "root.b", "root.b"} {
		s.add(0, scheduler.AddApplication{App: app(i), Queue: leaf, User: security.User{Name: "u"}})
	}
	owner := map[int]objects.AppID{}
	for len(s.Steps) < stepsPerRun {
		after := time.Duration(s.IntN(3)) * time.Second
		switch x := s.IntN(20); {
		case x < 7:
			i := len(owner)
			owner[i] = app(s.IntN(3))
			s.add(after, scheduler.SubmitAsk{Ask: &objects.Ask{
				Key: objects.AllocationKey(fmt.Sprint("k", i)), App: owner[i],
				Amounts:  vcores(2 + 2*s.IntN(2)),
				Priority: int32(s.IntN(3)),
				Policy:   objects.PolicySent | objects.PolicyAllowPreemptSelf | objects.PolicyAllowPreemptOther,
			}})
		case x < 11 && len(owner) > 0:
			i := s.IntN(len(owner))
			how := pick(s, scheduler.StoppedByRM, scheduler.PreemptedByScheduler,
				scheduler.PreemptedByScheduler)
			s.add(after, scheduler.Release{App: owner[i], Key: objects.AllocationKey(fmt.Sprint("k", i)), Type: how})
		default:
			s.schedule(after, 10)
		}
	}
	return s.Run
}

// A rejected ask does not hide others of its group: core and twin agree on which of them preempt, also
// when an evaluation passes few rejected ones.
func TestRandomRuns_RefusedAsksDoNotBlockTheirGroup(t *testing.T) {
	runs, behind, wentOn := testscale.Runs(100), 0, 0
	for seed := range uint64(runs) {
		s := refusingRun(t, seed)
		p := newHarness(s)
		if f := executeOn(s, p); f != nil {
			shorter, g := Shorten(s, f, Execute)
			t.Fatalf("seed %d: %v\nin short:\n%s\n%v", seed, f, shorter, g)
		}
		behind, wentOn = behind+p.twin.preemptedAfterRefused, wentOn+p.twin.stoppedAtRefusalBound
	}
	t.Logf("%d runs: %d asks preempted from behind a refused one, %d evaluations ended at the bound", runs, behind, wentOn)
	assert.Assert(t, behind >= runs && wentOn >= runs)
}
