package backfill

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/sim"
)

func TestTrace_FollowsFromSpecAndSeed(t *testing.T) {
	s := Spec{GPUs: 64, Load: 1, Factor: 1}
	one := s.MadeUpTrace(1)
	assert.DeepEqual(t, s.MadeUpTrace(1), one)
	assert.Assert(t, !slices.Equal(s.MadeUpTrace(2).Jobs, one.Jobs))
	other := s
	other.Factor, other.Mode = 5, EASY
	for i, j := range other.MadeUpTrace(1).Jobs {
		assert.Equal(t, j.Bound, 5*j.Duration)
		j.Bound = j.Duration
		assert.Equal(t, j, one.Jobs[i], "only the bound differs")
	}
	assert.Assert(t, s.Digest(one) != other.Digest(one))
}

func TestTrace_HasTheDistributions(t *testing.T) {
	for _, s := range []Spec{{GPUs: 64, Load: 0.8}, {GPUs: 64, Load: 1.5}, {GPUs: 512, Load: 1}} {
		var jobs, gangs, singles, short int
		var gaps, squares float64
		for seed := range uint64(10) {
			trace := s.MadeUpTrace(seed + 1)
			var hours, most float64
			last := time.Duration(0)
			for _, j := range trace.Jobs {
				jobs++
				of := float64(j.GPUs()) * j.Duration.Hours()
				hours, most = hours+of, max(most, of)
				assert.Assert(t, j.Duration >= minDuration && j.Duration <= maxDuration && j.Bound == j.Duration)
				assert.Assert(t, j.Arrival >= last && j.Arrival <= s.window() && j.Each <= gpusPerNode && j.Leaf < leaves)
				gap := (j.Arrival - last).Hours()
				gaps, squares, last = gaps+gap, squares+gap*gap, j.Arrival
				if j.Duration < medianDuration {
					short++
				}
				switch {
				case j.Gang:
					gangs++
					assert.Assert(t, j.Members >= 2 && j.GPUs() >= 8 && j.GPUs() <= min(64, s.GPUs/2), "%+v", j)
				case j.GPUs() == 1:
					singles++
				}
			}
			offered := hours / (float64(s.GPUs) * s.window().Hours())
			assert.Assert(t, offered >= s.Load && offered-s.Load <= most/(float64(s.GPUs)*s.window().Hours()), offered)
		}
		near := func(got int, of int, want float64) {
			t.Helper()
			share := float64(got) / float64(of)
			assert.Assert(t, math.Abs(share-want) < 4*math.Sqrt(want*(1-want)/float64(of)), "%v instead of %v", share, want)
		}
		near(gangs, jobs, gangShare)
		near(singles, jobs-gangs, 0.5)
		near(short, jobs, 0.5)
		// In a Poisson process the deviation of the gaps is their mean.
		mean := gaps / float64(jobs)
		assert.Assert(t, math.Abs(math.Sqrt(squares/float64(jobs)-mean*mean)/mean-1) < 0.05)
	}
}

// Three tasks run on GPUs for six GPU-hours; the share of a GPU counts as one. At a load of 1.5 on eight GPUs they
// arrive within half an hour.
func TestTrace_Openb(t *testing.T) {
	tasks, err := sim.ReadTasks("tasks.csv", strings.NewReader(
		"name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,creation_time,deletion_time\n"+
			"late,1000,1,8,1000,,LS,36000,37800\n"+ // half an hour of 8 GPUs
			"none,1000,1,0,0,,LS,36001,90000\n"+
			"early,1000,1,1,460,,BE,0,7200\n"+
			"short,1000,1,2,1000,,BE,18000,18000\n"))
	assert.NilError(t, err)
	s := Spec{GPUs: 8, Load: 1.5, Factor: 2, Openb: true}
	trace := s.OpenbTrace(tasks, 1)
	const second = time.Second
	assert.Equal(t, trace.Window.Round(second), 1800*second)
	for i, want := range []Job{
		{Arrival: 0, Duration: 7200 * second, Bound: 14400 * second, Members: 1, Each: 1},
		{Arrival: 900 * second, Duration: second, Bound: 2 * second, Members: 1, Each: 2},
		{Arrival: 1800 * second, Duration: 1800 * second, Bound: 3600 * second, Members: 1, Each: 8},
	} {
		got := trace.Jobs[i]
		got.Leaf = 0
		assert.Equal(t, got, want)
		assert.Equal(t, s.isLarge(&got), want.Each == 8)
	}
	assert.Equal(t, len(trace.Jobs), 3)
	figures, err := Play(s, trace)
	assert.ErrorContains(t, err, "no mode")
	assert.Assert(t, figures == nil)
	s.Mode = Bounded
	figures, err = Play(s, trace)
	assert.NilError(t, err)
	assert.Equal(t, figures[GangWaitP50], 1.5) // until the early one has ended
}
