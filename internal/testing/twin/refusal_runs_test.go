package twin

import (
	"math/rand/v2"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Core and twin agree about nodes that refuse the allocations of gangs, preemptors, asks with reservations and asks
// that the RM rejects, where it happens often.
func TestRandomRuns_NodesRefuse(t *testing.T) {
	occurred := map[string]int{}
	for _, kind := range []struct {
		name string
		run  runKind
		runs int
	}{
		{"gangs", gangRun, 120},
		{"gangs that are placed together", virtualGangRun, 100},
		{"reservations", reservingRun, 100},
		{"rejected asks", refusingRun, 60},
		{"all kinds", anyRun, 300},
		{"gangs among all kinds", anyGangRun, 150},
	} {
		t.Run(kind.name, func(t *testing.T) {
			withRefusals := func(t *testing.T, seed uint64) randomrun.Run {
				s := kind.run(t, seed)
				s.AddRefusals(rand.New(rand.NewPCG(seed-20_000, 77)), 60)
				return s
			}
			agree(t, 20_000, testscale.Runs(kind.runs), withRefusals, observeRefusals, occurred)
		})
	}
	t.Log(occurred)
	for _, what := range []string{"ask", "shape", "longer", "the node has changed", "the back-off is over", "explained"} {
		assert.Check(t, occurred[what] > 0, "%s: never", what)
	}
}

// observeRefusals counts what nodes refused, and how it ended.
func observeRefusals(_ *testing.T, core *scheduler.Core, occurred map[string]int) stepObserver {
	now := randomrun.StartTime()
	return func(step randomrun.Step) func([]scheduler.Effect) {
		now = now.Add(step.After)
		return func(effects []scheduler.Effect) {
			for _, e := range effects {
				switch e, _ := e.(scheduler.Event); {
				case e.Kind == scheduler.EventNodeRefused && e.OfShape:
					occurred["shape"]++
				case e.Kind == scheduler.EventNodeRefused:
					occurred["ask"]++
					occurred["longer"] += boolToInt(e.Count > 1)
				case e.Kind == scheduler.EventNodeRefusalEnded:
					occurred[e.Message]++
				}
			}
			if r, ok := step.Command.(scheduler.SubmitAsk); ok &&
				core.Explain(r.Ask.Key, now).Verdict.Reason == scheduler.NodesRefusedBefore {
				occurred["explained"]++
			}
		}
	}
}
