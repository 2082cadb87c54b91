package backfill

import (
	"math"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

func TestTrace_FollowsFromSpecAndSeed(t *testing.T) {
	s := Spec{GPUs: 64, Load: 1, Factor: 1}
	one := s.Trace(1)
	assert.DeepEqual(t, s.Trace(1), one)
	assert.Assert(t, !slices.Equal(s.Trace(2), one))
	other := s
	other.Factor, other.Mode = 5, EASY
	for i, j := range other.Trace(1) {
		assert.Equal(t, j.Bound, 5*j.Duration)
		j.Bound = j.Duration
		assert.Equal(t, j, one[i], "only the bound differs")
	}
	assert.Assert(t, s.Digest() != other.Digest())
}

func TestTrace_HasTheDistributions(t *testing.T) {
	for _, s := range []Spec{{GPUs: 64, Load: 0.8}, {GPUs: 64, Load: 1.5}, {GPUs: 512, Load: 1}} {
		var jobs, gangs, singles, short int
		var gaps, squares float64
		for seed := range uint64(10) {
			trace := s.Trace(seed + 1)
			var hours, most float64
			last := time.Duration(0)
			for _, j := range trace {
				jobs++
				of := float64(j.GPUs()) * j.Duration.Hours()
				hours, most = hours+of, max(most, of)
				assert.Assert(t, j.Duration >= minDuration && j.Duration <= maxDuration && j.Bound == j.Duration)
				assert.Assert(t, j.Arrival >= last && j.Arrival <= s.Window() && j.Each <= gpusPerNode && j.Leaf < leaves)
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
			offered := hours / (float64(s.GPUs) * s.Window().Hours())
			assert.Assert(t, offered >= s.Load && offered-s.Load <= most/(float64(s.GPUs)*s.Window().Hours()), offered)
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
