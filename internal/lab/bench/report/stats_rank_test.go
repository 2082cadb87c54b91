package report

import (
	"math/bits"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"
)

func TestMannWhitney(t *testing.T) {
	for _, c := range []struct {
		name string
		a, b []float64
		want float64
	}{
		{"without overlap, 2 of the 20 ways to deal six values", []float64{1, 2, 3}, []float64{4, 5, 6}, 0.1},
		{"whatever comes first", []float64{4, 5, 6}, []float64{1, 2, 3}, 0.1},
		{"the example of SciPy, U = 17 of 20", []float64{19, 22, 16, 29, 24}, []float64{20, 11, 17, 12}, 0.1111111},
		// Table of Mann and Whitney (1947) for n = m = 5: P(U <= 2) = 0.016.
		{"U = 2 of 25", []float64{1, 2, 3, 6, 5}, []float64{4, 7, 8, 9, 10}, 2 * 4.0 / 252},
		{"all the same", []float64{1, 1}, []float64{1, 1, 1}, 1},
		{"one and one", []float64{1}, []float64{2}, 1},
	} {
		t.Run(c.name, func(t *testing.T) { almostEqual(t, mannWhitney(c.a, c.b), c.want, 1e-6) })
	}
}

// The slow twin deals all values out in every way and counts those that are as far from
// even, on either side: ties and unequal sides included.
func TestMannWhitney_MatchesEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := someValues(6).Draw(t, "a"), someValues(6).Draw(t, "b")
		all := slices.Concat(a, b)
		seen := pairsWon(a, b)
		var below, above, deals float64
		for deal := range uint(1) << len(all) {
			if bits.OnesCount(deal) != len(a) {
				continue
			}
			var left, right []float64
			for i, v := range all {
				if deal>>i&1 == 1 {
					left = append(left, v)
				} else {
					right = append(right, v)
				}
			}
			deals++
			if u := pairsWon(left, right); u <= seen {
				below++
			}
			if u := pairsWon(left, right); u >= seen {
				above++
			}
		}
		almostEqual(t, mannWhitney(a, b), min(1, 2*min(below, above)/deals), 1e-9)
		assert.Equal(t, mannWhitney(a, b), mannWhitney(b, a))
		assert.Assert(t, mannWhitney(a, b) >= min(1, smallestP(len(a), len(b)))-1e-9)
	})
}

// pairsWon counts the pairs of which a's value is the larger one, twice, and ties once.
func pairsWon(a, b []float64) (twice int) {
	for _, x := range a {
		for _, y := range b {
			if x > y {
				twice++
			}
			if x >= y {
				twice++
			}
		}
	}
	return twice
}

func TestHolm(t *testing.T) {
	for _, c := range []struct{ given, want []float64 }{
		{nil, []float64{}},
		{[]float64{0.03}, []float64{0.03}},
		{[]float64{0.01, 0.04, 0.03, 0.005}, []float64{0.03, 0.06, 0.06, 0.02}},
		{[]float64{0.4, 0.6, 0.5}, []float64{1, 1, 1}},
		{[]float64{0.02, 0.02}, []float64{0.04, 0.04}},
	} {
		got := holm(c.given)
		assert.Equal(t, len(got), len(c.want))
		for i := range got {
			almostEqual(t, got[i], c.want[i], 1e-12)
		}
	}
}

func TestRunsFor(t *testing.T) {
	almostEqual(t, smallestP(3, 3), 2.0/20, 1e-12)
	almostEqual(t, smallestP(5, 5), 2.0/252, 1e-12)
	almostEqual(t, smallestP(2, 5), 2.0/21, 1e-12)
	almostEqual(t, smallestP(10, 10), 2.0/184756, 1e-15)
	assert.Equal(t, smallestP(1, 1), 1.0)
	for tests, want := range map[int]int{0: 1, 1: 4, 2: 5, 6: 5, 7: 6, 1000: 9, 2000: 10, 4618: 10, 4619: 11} {
		assert.Equal(t, runsFor(tests), want, "%d tests", tests)
	}
}
