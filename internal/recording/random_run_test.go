package recording_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/randomrun"
	"github.com/canopy-scheduler/canopy/internal/recording"
	"github.com/canopy-scheduler/canopy/internal/testscale"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

const stepsPerRun = 300

func eachSeed(t *testing.T, runs int, test func(t *testing.T, s randomrun.Run)) {
	first := rand.Uint64N(1 << 40)
	for i := range testscale.Runs(runs) {
		seed := first + uint64(i)
		ok := t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { test(t, randomrun.RandomRun(seed, stepsPerRun)) })
		if !ok {
			return
		}
	}
}

func TestRandomRuns_ReplayIsEqual(t *testing.T) {
	compared, asked := 0, 0
	eachSeed(t, 300, func(t *testing.T, s randomrun.Run) {
		dir := t.TempDir()
		record(openStore(t, recording.Options{Dir: dir}), "default", s)
		items := read(t, dir)
		n, notReplayed := play(t, items)
		assert.Equal(t, n, len(s.Steps))
		assert.Equal(t, notReplayed, 0)
		assert.Equal(t, items[len(items)-1].Mark, "end")
		compared += n
		for _, x := range items {
			if x.Step != nil {
				asked += len(x.Step.Answers)
			}
		}
	})
	assert.Assert(t, asked > 100, "only %d answers of an Oracle", asked)
}

// TestRandomRuns_ReplayFromReset replays from each ResetPartition, as when the steps before are lost.
func TestRandomRuns_ReplayFromReset(t *testing.T) {
	starts := 0
	eachSeed(t, 300, func(t *testing.T, s randomrun.Run) {
		g := rand.New(rand.NewPCG(s.Seed, 7))
		for range 2 {
			at := g.IntN(len(s.Steps))
			s.Steps = slices.Insert(s.Steps, at, randomrun.Step{Command: scheduler.ResetPartition{Reason: "a test"}})
		}
		dir := t.TempDir()
		record(openStore(t, recording.Options{Dir: dir}), "default", s)
		items := read(t, dir)
		for i, x := range items {
			if x.Begin != nil && x.Begin.Restart {
				compared, _ := play(t, items[i:])
				steps := 0
				for _, y := range items[i:] {
					if y.Step != nil {
						steps++
					}
				}
				assert.Equal(t, compared, steps-1, "all but the reset itself")
				starts++
			}
		}
	})
	assert.Assert(t, starts > 10, "only %d starts", starts)
}

func TestRecordings_OfSeveralPartitions(t *testing.T) {
	dir := t.TempDir()
	store := openStore(t, recording.Options{Dir: dir})
	seed := rand.Uint64N(1 << 40)
	t.Logf("seed %d", seed)
	names := []string{"default", "gpu/..", ".hidden"}
	steps := 0
	for i, name := range append(names, "default") { // the first is removed, and created again at the same time
		s := randomrun.RandomRun(seed+uint64(i), stepsPerRun)
		record(store, name, s)
		steps += len(s.Steps)
	}
	sessions, err := recording.Sessions(dir)
	assert.NilError(t, err)
	var got []string
	for _, s := range sessions {
		got = append(got, s.Partition)
		compared, _ := play(t, readSession(t, s))
		steps -= compared
	}
	assert.Equal(t, steps, 0)
	assert.DeepEqual(t, got, []string{".hidden", "default", "default", "gpu/.."})
	outside, err := filepath.Glob(filepath.Join(dir, "..", "*.rec"))
	assert.NilError(t, err)
	assert.Equal(t, len(outside), 0)
}
