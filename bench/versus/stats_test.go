package main

import (
	"math"
	"testing"

	"gotest.tools/v3/assert"
)

func TestMedian_Values(t *testing.T) {
	cases := []struct {
		name   string
		values []float64
		want   float64
	}{
		{"of one value is that value", []float64{7}, 7},
		{"of an odd number is the middle one, whatever the order", []float64{9, 1, 5}, 5},
		{"of an even number lies between the middle two", []float64{4, 1, 3, 100}, 3.5},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			given := append([]float64(nil), c.values...)
			assert.Equal(t, median(c.values), c.want)
			assert.DeepEqual(t, c.values, given) // untouched
		})
	}
}

func TestQuantile(t *testing.T) {
	sorted := []float64{10, 20, 30, 40, 50}
	for q, want := range map[float64]float64{0: 10, 0.25: 20, 0.5: 30, 0.625: 35, 1: 50} {
		assert.Equal(t, quantile(sorted, q), want, "at %v", q)
	}
	assert.Equal(t, quantile([]float64{3}, 0.975), 3.0)
}

func TestCompare_Ratio(t *testing.T) {
	t.Run("the ratio is that of the medians", func(t *testing.T) {
		got := compare([]float64{30, 10, 20}, []float64{2, 1, 3}, 1)
		assert.Equal(t, got.Value, 10.0)
	})
	t.Run("runs without spread leave no doubt", func(t *testing.T) {
		assert.Equal(t, compare([]float64{8, 8, 8}, []float64{2, 2, 2}, 1), Ratio{Value: 4, Low: 4, High: 4})
	})
	t.Run("what slows both of a pair does not widen the interval", func(t *testing.T) {
		got := compare([]float64{10, 20, 40}, []float64{1, 2, 4}, 1)
		assert.Equal(t, got, Ratio{Value: 10, Low: 10, High: 10})
	})
	t.Run("the interval holds the ratio and stays within what was seen", func(t *testing.T) {
		got := compare([]float64{10, 12, 14, 16}, []float64{1, 1, 1, 1}, 1)
		assert.Assert(t, got.Low <= got.Value && got.Value <= got.High, "%v", got)
		assert.Assert(t, got.Low >= 10 && got.High <= 16 && got.Low < got.High, "%v", got)
	})
	t.Run("the same seed gives the same interval", func(t *testing.T) {
		top, bottom := []float64{10, 12, 14, 16, 11}, []float64{3, 1, 2, 5, 4}
		assert.Equal(t, compare(top, bottom, 7), compare(top, bottom, 7))
	})
}

// A known case: for many values of a normal distribution the interval of the median is
// about 1.96 * 1.2533 * sigma / sqrt(n) to each side.
func TestCompare_IntervalOfNormalSample(t *testing.T) {
	const n, sigma = 400, 1.0
	top, bottom := make([]float64, n), make([]float64, n)
	for i := range n {
		p := (float64(i) + 0.5) / n
		top[i], bottom[i] = 100+sigma*math.Sqrt2*math.Erfinv(2*p-1), 1
	}
	got := compare(top, bottom, 1)
	want := 1.96 * 1.2533 * sigma / math.Sqrt(n)
	assert.Assert(t, math.Abs(got.Value-100) < 0.01, "%v", got)
	for _, half := range []float64{got.Value - got.Low, got.High - got.Value} {
		assert.Assert(t, half > 0.6*want && half < 1.5*want, "half of the interval is %v, not about %v", half, want)
	}
}
