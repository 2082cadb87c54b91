package report

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"
)

func almostEqual(t rapid.TB, got, want, within float64) {
	t.Helper()
	assert.Assert(t, math.Abs(got-want) <= within, "got %v, want %v", got, want)
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{7}, 7},
		{[]float64{3, 1, 2}, 2},
		{[]float64{10, 1, 3, 2}, 2.5},
		{[]float64{0, 0, 0, 9}, 0},
		{[]float64{math.MaxFloat64, math.MaxFloat64}, math.MaxFloat64},
	} {
		given := slices.Clone(c.values)
		assert.Equal(t, medianOf(c.values).Value, c.want, "%v", c.values)
		assert.DeepEqual(t, c.values, given) // they belong to the caller
	}
}

// The median of n values drawn out of n distinct ones is at most the k-th of them with
// the chance P(B(n, k/n) > n/2). For n = 11 and k = 2 that is 0.7 %, for k = 3 it is
// 5.1 %, so that the interval goes from the third value to the third last.
func TestMedianInterval_MatchesBinomial(t *testing.T) {
	values := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	assert.Equal(t, medianOf(values), Estimate{Value: 6, Low: 3, High: 9})
	// For n = 3 the chance of the least value is 7/27.
	assert.Equal(t, medianOf([]float64{1, 20, 3}), Estimate{Value: 3, Low: 1, High: 20})
}

// Out of two values each median of a draw is low, middle or high with 1/4, 1/2, 1/4.
func TestBootstrap_DrawsUniformly(t *testing.T) {
	draw, counts := newBootstrap(), map[float64]int{}
	const draws = 40_000
	for range draws {
		counts[draw.median([]float64{10, 30})]++
	}
	assert.Equal(t, len(counts), 3)
	for value, want := range map[float64]float64{10: 0.25, 20: 0.5, 30: 0.25} {
		almostEqual(t, float64(counts[value])/draws, want, 0.01)
	}
}

func TestRatio(t *testing.T) {
	assert.Equal(t, ratioOf([]float64{2, 4, 3}, []float64{6, 6, 6}), Estimate{Value: 2, Low: 1.5, High: 3})
	assert.Equal(t, ratioOf([]float64{0, 0}, []float64{0, 0}), Estimate{Value: 1, Low: 1, High: 1})
	infinite := math.Inf(1)
	assert.Equal(t, ratioOf([]float64{0, 0}, []float64{1, 1}), Estimate{Value: infinite, Low: infinite, High: infinite})
	assert.Assert(t, !ratioOf([]float64{1}, []float64{1, 2}).HasInterval())
	assert.Assert(t, !ratioOf([]float64{1, 2}, []float64{1}).HasInterval())
}

// someValues are what runs could find, with ties more often than not.
func someValues(runs int) *rapid.Generator[[]float64] {
	value := rapid.OneOf(rapid.Map(rapid.IntRange(0, 5), func(n int) float64 { return float64(n) }),
		rapid.Float64Range(0, 10))
	return rapid.SliceOfN(value, 1, runs)
}

func TestInterval_Properties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := someValues(12).Draw(t, "values")
		shuffled := slices.Clone(values)
		rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 0)).Shuffle(len(shuffled), func(i, j int) {
			shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
		})
		same := ratioOf(values, shuffled)
		assert.Equal(t, same.Value, 1.0)
		e := medianOf(values)
		assert.Equal(t, e.HasInterval(), len(values) > 1)
		if !e.HasInterval() {
			return
		}
		assert.Equal(t, e, medianOf(shuffled))
		assert.Assert(t, slices.Min(values) <= e.Low && e.Low <= e.Value && e.Value <= e.High && e.High <= slices.Max(values),
			"%v", e)
		assert.Assert(t, same.Low <= 1 && same.High >= 1, "%v", same)
	})
}

func TestEstimate_JSON(t *testing.T) {
	for want, e := range map[string]Estimate{
		`{"value":1.5,"low":1,"high":2}`:        {1.5, 1, 2},
		`{"value":7,"low":null,"high":null}`:    medianOf([]float64{7}),
		`{"value":null,"low":0.5,"high":null}`:  {math.Inf(1), 0.5, math.Inf(1)},
		`{"value":1,"low":null,"high":1000000}`: {1, math.Inf(-1), 1e6},
	} {
		text, err := json.Marshal(e)
		assert.NilError(t, err)
		assert.Equal(t, string(text), want)
	}
}
