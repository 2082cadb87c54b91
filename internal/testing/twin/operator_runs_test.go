package twin

import (
	"math/rand/v2"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Core and twin agree about what operators do to gangs, reservations and asks that the RM rejects, where it happens
// often.
func TestRandomRuns_OperatorsAct(t *testing.T) {
	for _, kind := range []struct {
		name string
		run  runKind
		runs int
	}{
		{"gangs", gangRun, 120},
		{"gangs that are placed together", virtualGangRun, 100},
		{"rejected asks", refusingRun, 60},
		{"all kinds", anyRun, 150},
		{"gangs among all kinds", anyGangRun, 150},
	} {
		t.Run(kind.name, func(t *testing.T) {
			acted, runs := map[string]int{}, testscale.Runs(kind.runs)
			withOperations := func(t *testing.T, seed uint64) randomrun.Run {
				s := kind.run(t, seed)
				s.AddOperations(rand.New(rand.NewPCG(seed-10_000, 76)), 25)
				return s
			}
			agree(t, 10_000, runs, withOperations, observeOperations, acted)
			t.Logf("%d runs: %v", runs, acted)
			for _, what := range []string{"moved", "cancelled", "set draining", "moved with allocations"} {
				assert.Check(t, acted[what] > 0 || runs < kind.runs, "%s: never in %d runs", what, runs)
			}
		})
	}
}

// observeOperations counts what operators did that changed something.
func observeOperations(_ *testing.T, core *scheduler.Core, acted map[string]int) stepObserver {
	return func(step randomrun.Step) func([]scheduler.Effect) {
		move, isMove := step.Command.(scheduler.Operate)
		bound, held := 0, 0
		if a, known := core.Partition().Application(move.App); isMove && known {
			for _, x := range a.Allocations() {
				bound += boolToInt(!x.Pending())
				held += boolToInt(core.Partition().Nomination(x) != nil || core.Partition().Reservations().Of(x) != nil)
			}
		}
		return func(effects []scheduler.Effect) {
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
}
