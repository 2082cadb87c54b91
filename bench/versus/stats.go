package main

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Ratio compares two arms: how many times the denominator the numerator is, and where
// 95 % of the resampled ratios lie.
type Ratio struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// resamples counts how often the runs are drawn anew. More would not move two digits.
const resamples = 10_000

// median returns the middle value, or the mean of the middle two. Requires: at least one value.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// quantile interpolates between neighbours. Requires: sorted, at least one value,
// 0 <= q <= 1.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	low, high := math.Floor(at), math.Ceil(at)
	return sorted[int(low)] + (at-low)*(sorted[int(high)]-sorted[int(low)])
}

// compare is the ratio of the medians with a percentile bootstrap. Runs are drawn in
// pairs, because those of a pair followed each other and share the mood of the machine.
// Requires: as many in top as in bottom, at least one, all above zero.
func compare(top, bottom []float64, seed uint64) Ratio {
	rng := rand.New(rand.NewPCG(seed, 2))
	n := len(top)
	drawnTop, drawnBottom := make([]float64, n), make([]float64, n)
	ratios := make([]float64, resamples)
	for i := range ratios {
		for j := range n {
			pair := rng.IntN(n)
			drawnTop[j], drawnBottom[j] = top[pair], bottom[pair]
		}
		ratios[i] = median(drawnTop) / median(drawnBottom)
	}
	slices.Sort(ratios)
	return Ratio{
		Value: median(top) / median(bottom),
		Low:   quantile(ratios, 0.025), High: quantile(ratios, 0.975),
	}
}
