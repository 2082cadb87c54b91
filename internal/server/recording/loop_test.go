package recording_test

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/internal/server/recording"
	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

type discardedEffects struct{}

func (discardedEffects) Deliver([]scheduler.Effect) {}

// wholeOracle is o, with answers to all kinds of questions.
func wholeOracle(o objects.Oracle) *objects.Oracle {
	o.FitsWhenFree = o.Fits
	o.FitsWithout = func(ask objects.AllocationKey, node objects.NodeID, _ []objects.AllocationKey) bool {
		return o.Fits(ask, node)
	}
	o.FitsEach = func(ask objects.AllocationKey, nodes []objects.NodeID) (fits []bool) {
		for _, n := range nodes {
			fits = append(fits, o.Fits(ask, n))
			if fits[len(fits)-1] {
				break
			}
		}
		return fits
	}
	return &o
}

// recordedCluster is a cluster whose partitions are recorded below a directory.
func recordedCluster(t *testing.T, dir string) *loop.Cluster {
	store := openStore(t, recording.Options{Dir: dir, Now: time.Now, After: time.After, FlushEvery: 50 * time.Millisecond})
	return loop.NewCluster(loop.Options{
		Recorder: func(partition string, core *scheduler.Core, opt objects.Options) loop.Recorder {
			return store.Recorder(partition, core, opt)
		},
	}, func(string) loop.Sink { return discardedEffects{} }, nil)
}

// TestLoop_RecordingIsReplayed records partitions while resource managers of both kinds take over from each other, and
// operators ask questions.
func TestLoop_RecordingIsReplayed(t *testing.T) {
	asked, steps := 0, 0
	isReplayed := func(t *testing.T, s randomrun.Run) {
		t.Helper()
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			other := randomrun.RandomRun(s.Seed+1, stepsPerRun)
			s.Partition.Name, other.Partition.Name = "default", "other"
			c := recordedCluster(t, dir)
			defer c.End()
			assert.NilError(t,
				c.Configure(t.Context(), &configs.Config{Partitions: []configs.Partition{s.Partition, other.Partition}}))
			g := rand.New(rand.NewPCG(s.Seed, 3))
			for i, b := range s.Steps {
				if i%100 == 50 {
					mode := loop.Mode{Sync: true,
						Oracle: func(string) *objects.Oracle { return wholeOracle(*randomrun.RejectSome.Oracle()) }}
					if g.IntN(2) == 0 {
						mode = loop.Mode{}
					}
					assert.NilError(t, c.Reset(t.Context(), mode, "a test"))
				}
				send(t, c, "default", b)
				send(t, c, "other", other.Steps[i%len(other.Steps)])
			}
		})
		sessions, restarts := read(t, dir), 0
		for _, x := range sessions {
			assert.Equal(t, x.incomplete, "")
			if x.begin.Restart {
				restarts++
			}
			for _, step := range x.steps {
				asked += len(step.Answers)
			}
		}
		compared := play(t, sessions...)
		assert.Equal(t, compared, stepsOf(sessions)-restarts)
		steps += compared
	}
	eachSeed(t, 60, isReplayed)
	for seed := rand.Uint64N(1 << 40); asked <= 100 && !t.Failed(); seed++ { // few runs may ask little
		t.Logf("seed %d", seed)
		isReplayed(t, randomrun.RandomRun(seed, stepsPerRun))
	}
	assert.Assert(t, steps > 1000 && asked > 100, "%d steps, %d answers", steps, asked)
}

// send sends a command at its time; a step without one is a question of an operator.
func send(t *testing.T, c *loop.Cluster, partition string, b randomrun.Step) {
	t.Helper()
	time.Sleep(b.After)
	l, ok := c.Partition(partition)
	if !ok { // it was removed
		return
	}
	switch b.Command.(type) {
	case nil:
		synctest.Wait()
		_, err := l.ExplainWithVictims(t.Context(), "k1")
		assert.NilError(t, err)
	case scheduler.DrainPartition:
	default:
		assert.Assert(t, l.Send(b.Command))
	}
}

type panickingOracle struct{}

func (panickingOracle) Fits(objects.AllocationKey, objects.NodeID) bool { panic("a bug") }

// TestLoop_StepThatPanicsIsRecorded runs a loop whose Core panics: the recording ends with the step.
func TestLoop_StepThatPanicsIsRecorded(t *testing.T) {
	dir := t.TempDir()
	store := openStore(t, recording.Options{Dir: dir})
	s := randomrun.RandomRun(1, 1)
	core := scheduler.NewWith(s.Partition, nil, coreOptions(s))
	r := store.Recorder("default", core, coreOptions(s))
	core.SetOracle(r.Oracle(&objects.Oracle{Fits: panickingOracle{}.Fits}))
	r.Begin()
	func() {
		defer func() { _ = recover() }()
		defer r.Close()
		r.Schedule(randomrun.StartTime(), 3)
		panic("a bug")
	}()
	got := read(t, dir)[0]
	assert.Equal(t, len(got.steps), 1)
	assert.Assert(t, !got.steps[0].Done && got.steps[0].Budget == 3)
	assert.Equal(t, got.incomplete, "")
	assert.Equal(t, play(t, got), 0)
}
