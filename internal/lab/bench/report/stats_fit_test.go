package report

import (
	"math"
	"testing"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"
)

// The textbook's: the slope is 6/10, its standard error sqrt(2.4/3/10), and Student's
// quantile for 3 degrees of freedom 3.182446.
func TestSlope(t *testing.T) {
	got, err := slope([]float64{1, 2, 3, 4, 5}, []float64{2, 4, 5, 4, 5})
	assert.NilError(t, err)
	almostEqual(t, got.Value, 0.6, 1e-12)
	almostEqual(t, got.Low, 0.6-3.182446*math.Sqrt(0.08), 1e-6)
	almostEqual(t, got.High, 0.6+3.182446*math.Sqrt(0.08), 1e-6)

	// With one degree of freedom the quantile is 12.70620; here the error is 1/sqrt(12).
	got, err = slope([]float64{0, 1, 2}, []float64{0, 1, 1})
	assert.NilError(t, err)
	almostEqual(t, got.Value, 0.5, 1e-12)
	almostEqual(t, got.High-got.Value, 12.70620/math.Sqrt(12), 1e-5)
}

func TestSlope_NeedsThreeSizes(t *testing.T) {
	for want, xs := range map[string][]float64{
		"a slope needs at least 3 points of different size, and there are 0": {},
		"a slope needs at least 3 points of different size, and there are 2": {1, 2, 2, 1},
	} {
		_, err := slope(xs, xs)
		assert.Error(t, err, want)
	}
}

func TestScaling_ExponentOfPowerLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		power := rapid.Float64Range(-2, 3).Draw(t, "power")
		factor := rapid.Float64Range(1e-3, 1e3).Draw(t, "factor")
		s := Suite{Axis: "nodes"}
		for i := range rapid.IntRange(3, 9).Draw(t, "points") {
			size := math.Pow(3, float64(i))
			s.Cells = append(s.Cells, Cell{Size: size, Samples: []Sample{{headlineMetric: factor * math.Pow(size, power)}}})
		}
		got := s.Scaling()
		assert.Equal(t, len(got), 1)
		assert.NilError(t, got[0].Err)
		assert.Equal(t, got[0].Points, len(s.Cells))
		almostEqual(t, got[0].Exponent.Value, power, 1e-9)
		almostEqual(t, got[0].Exponent.Low, power, 1e-6)
		almostEqual(t, got[0].Exponent.High, power, 1e-6)
		assert.Assert(t, got[0].PerLevel == nil, "nodes are no levels")
	})
}

func TestScaling_FitsEachLine(t *testing.T) {
	cost := func(v float64) []Sample { return []Sample{{headlineMetric: v}} }
	s := Suite{Axis: "levels", Cells: []Cell{
		{Line: "few", Size: 1, Samples: cost(1)},
		{Line: "all", Size: 1, Samples: []Sample{{headlineMetric: 90}, {headlineMetric: 3}, {headlineMetric: 2}}},
		{Line: "all", Size: 4, Samples: cost(6)},
		{Line: "few", Size: 2, Samples: cost(2)},
		{Line: "all", Size: 9, Samples: cost(11)},
		{Line: "all", Size: 0, Samples: cost(1000)}, // nowhere on the axis
		{Line: "all", Size: 50, Samples: cost(0)},   // too short to be measured
		{Line: "all", Size: 60, Failure: "killed"},
		{Line: "none", Size: 1, Samples: []Sample{{"bytesPerNode": 5}}},
	}}
	got := s.Scaling()
	assert.Equal(t, len(got), 2)
	assert.Equal(t, got[0].Line, "few")
	assert.Equal(t, got[0].Points, 2)
	assert.Error(t, got[0].Err, "a slope needs at least 3 points of different size, and there are 2")
	assert.Assert(t, got[0].PerLevel == nil)
	assert.Equal(t, got[1].Line, "all")
	assert.Equal(t, got[1].Points, 3)
	almostEqual(t, got[1].PerLevel.Value, 1, 1e-12)
	almostEqual(t, got[1].PerLevel.High, 1, 1e-9)

	s.Axis = ""
	assert.Equal(t, len(s.Scaling()), 0)
}
