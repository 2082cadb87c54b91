package twin

import (
	"math/rand/v2"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// runKind returns the run of a seed.
type runKind func(t *testing.T, seed uint64) randomrun.Run

func anyRun(_ *testing.T, seed uint64) randomrun.Run { return randomrun.RandomRun(seed, stepsPerRun) }

func anyGangRun(_ *testing.T, seed uint64) randomrun.Run { return randomrun.GangRun(seed, stepsPerRun) }

// observer returns what counts in seen the occurrences of one run of core.
type observer func(t *testing.T, core *scheduler.Core, seen map[string]int) stepObserver

// agree executes runs with consecutive seeds, about each of which core and twin must agree, and counts what happens in
// them. Without an observer nothing is counted.
func agree(t *testing.T, first uint64, runs int, of runKind, observe observer, seen map[string]int) {
	t.Helper()
	for seed := first; seed < first+uint64(runs); seed++ {
		s := of(t, seed)
		p := newHarness(s)
		if observe != nil {
			p.watch = observe(t, p.core, seen)
		}
		if f := executeOn(s, p); f != nil {
			shorter, g := Shorten(s, f, Execute)
			t.Fatalf("seed %d: %v\nin short:\n%s\n%v", seed, f, shorter, g)
		}
	}
}

// checkOften checks that what was seen in some runs happens often enough.
func checkOften(t *testing.T, runs int, seen, least map[string]int) {
	t.Helper()
	t.Logf("%d runs: %v", runs, seen)
	for what, n := range least {
		assert.Check(t, seen[what] >= n, "%s: %d times in %d runs, at least %d are due", what, seen[what], runs, n)
	}
}

// script is a run that is written step by step with a generator of its own.
type script struct {
	*randomrun.Generator
	randomrun.Run
}

// newScript returns a script without steps for a configuration. stream distinguishes the kinds of scripts.
func newScript(t *testing.T, config string, seed, stream uint64) *script {
	t.Helper()
	conf, problems := queuesyaml.Load([]byte(config))
	assert.Assert(t, conf != nil, "%v", problems)
	return &script{
		&randomrun.Generator{Rand: rand.New(rand.NewPCG(seed, stream))},
		randomrun.Run{Seed: seed, Partition: conf.Partitions[0], Lifetimes: lifecycle.DefaultLifetimes(),
			Shapes: feasibility.DefaultShapes, MaxCandidates: 1 << 30},
	}
}

// add appends a command some time after the step before.
func (s *script) add(after time.Duration, c scheduler.Command) {
	s.Steps = append(s.Steps, randomrun.Step{After: after, Command: c})
}

// schedule appends a call of Schedule.
func (s *script) schedule(after time.Duration, budget int) {
	s.Steps = append(s.Steps, randomrun.Step{After: after, Budget: budget})
}

// pick returns one of several values.
func pick[T any](s *script, from ...T) T { return randomrun.Pick(s.Generator, from...) }

func vcores(n int) resources.Amounts {
	return resources.FromMap(map[string]resources.Quantity{"vcore": resources.Quantity(n)})
}
