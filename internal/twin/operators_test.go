package twin

import (
	"math/rand/v2"
	"testing"

	"github.com/canopy-scheduler/canopy/internal/randomrun"
	"github.com/canopy-scheduler/canopy/internal/testscale"
)

// Core and twin agree about what operators do to gangs, reservations and asks that the RM rejects, where it happens often.
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
		{"gangs among all kinds", func(_ *testing.T, seed uint64) randomrun.Run { return randomrun.GangRun(seed, stepsPerRun) }, 150},
	} {
		t.Run(kind.name, func(t *testing.T) {
			for i := range uint64(testscale.Runs(kind.runs)) {
				s := kind.run(t, 10_000+i)
				s.AddOperations(rand.New(rand.NewPCG(i, 76)), 25)
				if f := Execute(s); f != nil {
					shorter, g := Shorten(s, f, Execute)
					t.Fatalf("seed %d: %v\nin short:\n%s\n%v", s.Seed, f, shorter, g)
				}
			}
		})
	}
}
