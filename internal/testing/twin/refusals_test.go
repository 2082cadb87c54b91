package twin

import (
	"math/rand/v2"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Core and twin agree about nodes that refuse the allocations of gangs, preemptors, asks with reservations and asks
// that the RM rejects, where it happens often.
func TestRandomRuns_NodesRefuse(t *testing.T) {
	occurred := map[string]int{}
	for _, kind := range []struct {
		name string
		run  func(*testing.T, uint64) randomrun.Run
		runs int
	}{
		{"gangs", gangRun, 120},
		{"gangs that are placed together", virtualGangRun, 100},
		{"reservations", reservingRun, 100},
		{"rejected asks", refusingRun, 60},
		{"all kinds", func(_ *testing.T, seed uint64) randomrun.Run { return randomrun.RandomRun(seed, stepsPerRun) }, 300},
		{"gangs among all kinds",
			func(_ *testing.T, seed uint64) randomrun.Run { return randomrun.GangRun(seed, stepsPerRun) }, 150},
	} {
		t.Run(kind.name, func(t *testing.T) {
			for i := range uint64(testscale.Runs(kind.runs)) {
				s := kind.run(t, 20_000+i)
				s.AddRefusals(rand.New(rand.NewPCG(i, 77)), 60)
				if f := Execute(s); f != nil {
					shorter, g := Shorten(s, f, Execute)
					t.Fatalf("seed %d: %v\nin short:\n%s\n%v", s.Seed, f, shorter, g)
				}
				countRefusals(s, occurred)
			}
		})
	}
	t.Log(occurred)
	for _, what := range []string{"ask", "shape", "longer", "the node has changed", "the back-off is over", "explained"} {
		assert.Check(t, occurred[what] > 0, "%s: never", what)
	}
}

// countRefusals counts what nodes refused in a run, and how it ended.
func countRefusals(s randomrun.Run, occurred map[string]int) {
	core := scheduler.NewWith(s.Partition, s.Oracle.Oracle(), objects.Options{
		Shapes: s.Shapes, Lifetimes: lifecycle.DefaultLifetimes(), Candidates: s.MaxCandidates, Refusals: s.MaxRefusals,
		Evaluations: 1 << 30,
	})
	now := randomrun.StartTime()
	for _, step := range s.Steps {
		now = now.Add(step.After)
		effects, _ := applyStep(step, core, now)
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
