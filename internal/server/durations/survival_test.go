package durations

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"
)

func seconds(n ...int) (lives []Life) {
	for _, x := range n {
		lives = append(lives, Life{0, time.Duration(x) * time.Second, true})
	}
	return lives
}

func TestDistribution_Examples(t *testing.T) {
	ten := NewDistribution(seconds(10, 20, 30, 40, 50, 60, 70, 80, 90, 100))
	for _, c := range []struct {
		sentence  string
		of        *Distribution
		age       time.Duration
		u         float64
		remaining time.Duration
	}{
		{"the median of a new one", ten, 0, 0.5, 60 * time.Second},
		{"what has survived half of them ends later", ten, 50 * time.Second, 0.5, 30 * time.Second},
		{"what is older than all runs as long again", ten, 200 * time.Second, 0.5, 200 * time.Second},
		{"nothing is known: as long again", NewDistribution(nil), time.Minute, 0.5, time.Minute},
		{"the first to end", ten, 0, 0, 10 * time.Second},
		{
			"nine that still run count for the ages that they have reached",
			NewDistribution(append(seconds(10), slices.Repeat([]Life{{0, 20 * time.Second, false}}, 9)...)),
			0, 0.05, 10 * time.Second,
		},
		{
			"and make the others rare",
			NewDistribution(append(seconds(10), slices.Repeat([]Life{{0, 20 * time.Second, false}}, 9)...)),
			0, 1 - 0.5*math.Exp(-0.1), 40 * time.Second,
		},
		{
			"what was watched later does not count before",
			NewDistribution(append(seconds(10, 10), slices.Repeat([]Life{{15 * time.Second, 20 * time.Second, false}}, 100)...)),
			0, 0.6, 10 * time.Second,
		},
	} {
		got := c.of.Remaining(c.age, c.u)
		assert.Assert(t, (got-c.remaining).Abs() <= time.Millisecond, "%s: %v, want %v", c.sentence, got, c.remaining)
	}
	assert.Equal(t, ten.Quantile(0.5), 60*time.Second)
	assert.Equal(t, NewDistribution(seconds(0, 0, 0)).Quantile(0.3), time.Duration(0))
}

// A remaining time grows with the probability and is at least 0, and an age that is reached is in no future.
func TestDistribution_RemainingGrowsWithProbability(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		life := rapid.Custom(func(t *rapid.T) Life {
			entry := time.Duration(rapid.IntRange(0, 50).Draw(t, "entry")) * time.Second
			return Life{entry, entry + time.Duration(rapid.IntRange(-1, 50).Draw(t, "watched"))*time.Second,
				rapid.Bool().Draw(t, "ended")}
		})
		d := NewDistribution(rapid.SliceOfN(life, 0, 30).Draw(t, "lives"))
		age := time.Duration(rapid.IntRange(0, 120).Draw(t, "age")) * time.Second
		before := time.Duration(0)
		for u := 0.0; u < 1; u += 0.01 {
			got := d.Remaining(age, u)
			if got < before {
				t.Fatalf("remaining at %.2f is %v, below %v", u, got, before)
			}
			before = got
		}
		if before > maxRemaining {
			t.Fatalf("remaining is %v", before)
		}
	})
}

// The estimate from lives of which each is watched in a window only agrees with the durations that they are drawn from.
func TestDistribution_WindowsAreUnbiased(t *testing.T) {
	const seed = 1
	rng := rand.New(rand.NewPCG(seed, 0))
	var lives []Life
	const window = 40.0
	for range 20_000 {
		duration := 10 + 90*rng.Float64() // even from 10 to 100
		begun := -100 + 140*rng.Float64() // before or in the window from 0 to 40
		if end := begun + duration; end <= 0 {
			continue // before the window
		} else {
			exit, ended := min(end, window)-begun, end <= window
			lives = append(lives, Life{secondsOf(max(0, -begun)), secondsOf(exit), ended})
		}
	}
	d := NewDistribution(lives)
	for _, part := range []float64{0.1, 0.5, 0.9} {
		want := secondsOf(10 + 90*part)
		got := d.Quantile(part)
		assert.Assert(t, (got-want).Abs() < 3*time.Second, "seed %d: %.1f: %v, want %v", seed, part, got, want)
	}
}

func secondsOf(x float64) time.Duration { return time.Duration(x * float64(time.Second)) }
