package recording_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/playback"
	"github.com/canopy-scheduler/canopy/internal/server/recording"
	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
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

// TestRandomRuns_ReplayIsEqual records runs with resets, each of which begins a session: all steps make the same
// effects, but that those of a reset are not compared.
func TestRandomRuns_ReplayIsEqual(t *testing.T) {
	restarts, asked := 0, 0
	isEqual := func(t *testing.T, s randomrun.Run) {
		t.Helper()
		dir, g := t.TempDir(), rand.New(rand.NewPCG(s.Seed, 7))
		for range 2 {
			at := g.IntN(len(s.Steps))
			s.Steps = slices.Insert(s.Steps, at, randomrun.Step{Command: scheduler.ResetPartition{Reason: "a test"}})
		}
		record(openStore(t, recording.Options{Dir: dir}), "default", s)
		sessions, resets := read(t, dir), 0
		for _, x := range sessions {
			assert.Equal(t, x.incomplete, "")
			if x.begin.Restart {
				resets++
			}
			for i, step := range x.steps {
				assert.Equal(t, step.Number, uint64(i))
				assert.Assert(t, step.Done)
				asked += len(step.Answers)
			}
		}
		assert.Equal(t, stepsOf(sessions), len(s.Steps))
		assert.Equal(t, play(t, sessions...), len(s.Steps)-resets)
		restarts += resets
	}
	eachSeed(t, 300, isEqual)
	for seed := rand.Uint64N(1 << 40); asked <= 100 && !t.Failed(); seed++ { // few runs may ask little
		if s := randomrun.RandomRun(seed, stepsPerRun); s.Oracle.Oracle() != nil {
			t.Logf("seed %d, with an Oracle", seed)
			isEqual(t, s)
		}
	}
	assert.Assert(t, restarts > 10, "only %d", restarts)
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
		steps -= len(readSession(t, s).steps)
		play(t, readSession(t, s))
	}
	assert.Equal(t, steps, 0)
	assert.DeepEqual(t, slices.Compact(got), []string{".hidden", "default", "gpu/.."})
	outside, err := filepath.Glob(filepath.Join(dir, "..", "*.rec"))
	assert.NilError(t, err)
	assert.Equal(t, len(outside), 0)
}

// TestReset_KeepsWhatTheSchedulerKeeps replays from a reset of a partition whose resource manager was gone, that was
// being removed, and in which operators had switched something.
func TestReset_KeepsWhatTheSchedulerKeeps(t *testing.T) {
	one := resources.FromMap(map[string]resources.Quantity{"vcore": 1})
	s := randomrun.RandomRun(1, 1)
	s.Oracle = randomrun.NoOracle
	s.Partition.Root = configs.Queue{Name: "root", Parent: true, SubmitACL: security.Everyone(),
		Children: []configs.Queue{{Name: "a"}, {Name: "b"}}}
	s.Partition.PlacementRules = nil
	step := func(cmd scheduler.Command) {
		s.Steps = append(s.Steps, randomrun.Step{After: time.Second, Command: cmd, Budget: 9})
	}
	place := func(queue string) {
		app := objects.AppID("app-" + queue)
		step(scheduler.AddApplication{App: app, User: security.User{Name: "ann"}, Queue: "root." + queue})
		step(scheduler.SubmitAsk{Ask: &objects.Ask{Key: objects.AllocationKey("k-" + queue), App: app, Amounts: one}})
		step(nil)
	}
	s.Steps = nil
	step(scheduler.Operate{Action: scheduler.StopQueue, Queue: "root.a", By: "bob"})
	step(scheduler.DrainPartition{})
	step(scheduler.SetListening{})
	step(scheduler.ResetPartition{})
	place("a") // refused: it is being removed
	step(scheduler.UseConfig{Partition: s.Partition})
	step(scheduler.AddNode{Node: "n", Total: one.Times(9), Schedulable: true})
	place("b") // not placed: no resource manager listens
	step(scheduler.SetListening{Listening: true})
	step(nil)
	place("a") // not placed: the queue is stopped
	step(scheduler.Operate{Action: scheduler.StartQueue, Queue: "root.a"})
	step(nil)
	dir := t.TempDir()
	record(openStore(t, recording.Options{Dir: dir}), "default", s)
	var effects []string
	var p playback.Player
	restarted := read(t, dir)[1]
	p.Begin(restarted.begin)
	for _, x := range restarted.steps {
		made := p.Make(x)
		assert.Equal(t, made.Difference, "", "%s", x)
		for _, e := range made.Effects {
			if _, ok := e.(scheduler.Allocated); ok {
				effects = append(effects, fmt.Sprint(x.Number, " ", e))
			}
		}
	}
	assert.DeepEqual(t, effects, []string{"10 allocated k-b (app-b) on n", "15 allocated k-a (app-a) on n"})
}
