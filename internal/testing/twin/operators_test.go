package twin

import (
	"math/rand/v2"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Core and twin agree about what operators do to gangs, reservations and asks that the RM rejects, where it happens
// often.
func TestRandomRuns_OperatorsAct(t *testing.T) {
	for _, kind := range []struct {
		name string
		run  func(*testing.T, uint64) randomrun.Run
		runs int
	}{
		{"gangs", gangRun, 120},
		{"gangs that are placed together", virtualGangRun, 100},
		{"rejected asks", refusingRun, 60},
		{"all kinds", func(_ *testing.T, seed uint64) randomrun.Run { return randomrun.RandomRun(seed, stepsPerRun) }, 150},
		{"gangs among all kinds",
			func(_ *testing.T, seed uint64) randomrun.Run { return randomrun.GangRun(seed, stepsPerRun) }, 150},
	} {
		t.Run(kind.name, func(t *testing.T) {
			acted, runs := map[string]int{}, testscale.Runs(kind.runs)
			for i := range uint64(runs) {
				s := kind.run(t, 10_000+i)
				s.AddOperations(rand.New(rand.NewPCG(i, 76)), 25)
				if f := Execute(s); f != nil {
					shorter, g := Shorten(s, f, Execute)
					t.Fatalf("seed %d: %v\nin short:\n%s\n%v", s.Seed, f, shorter, g)
				}
				countOperations(s, acted)
			}
			t.Logf("%d runs: %v", runs, acted)
			for _, what := range []string{"moved", "cancelled", "set draining", "moved with allocations"} {
				assert.Check(t, acted[what] > 0 || runs < kind.runs, "%s: never in %d runs", what, runs)
			}
		})
	}
}

// countOperations counts what operators did in a run that changed something.
func countOperations(s randomrun.Run, acted map[string]int) {
	core := scheduler.NewWith(s.Partition, s.Oracle.Oracle(),
		objects.Options{Shapes: s.Shapes, Lifetimes: s.Lifetimes, Candidates: s.MaxCandidates, Refusals: s.MaxRefusals,
			Evaluations: 1 << 30})
	now := randomrun.StartTime()
	for _, step := range s.Steps {
		now = now.Add(step.After)
		move, isMove := step.Command.(scheduler.Operate)
		bound, held := 0, 0
		if a, known := core.Partition().Application(move.App); isMove && known {
			for _, x := range a.Allocations() {
				bound += boolToInt(!x.Pending())
				held += boolToInt(core.Partition().Nomination(x) != nil || core.Partition().Reservations().Of(x) != nil)
			}
		}
		effects, _ := applyStep(step, core, now)
		for _, e := range effects {
			if o, is := e.(scheduler.OperatorActed); is {
				acted[o.Action.Info().Done]++
				if o.Action == scheduler.MoveApplication {
					acted["moved with allocations"] += boolToInt(bound > 0)
					acted["moved with a nomination or reservation"] += boolToInt(held > 0)
				}
			}
		}
	}
}
