package report

import (
	"cmp"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// significance is the probability of a reported difference between equal reports.
const significance = 0.05

// mannWhitney returns the two-sided p-value of the hypothesis that neither sample tends to have the larger
// values: exact for up to 50 values a side, 25 with ties, and approximate beyond. Both must have
// values.
func mannWhitney(a, b []float64) float64 {
	return min(1, 2*min(oneSidedP(a, b), oneSidedP(b, a)))
}

// oneSidedP returns the one-sided p-value. With ties and sides of different sizes the
// distribution is skewed, and the library's two-sided value, twice one tail, depends on
// which sample comes first.
func oneSidedP(a, b []float64) float64 {
	r, err := stats.MannWhitneyUTest(a, b, stats.LocationLess)
	if err != nil { // all values are the same
		return 1
	}
	return r.P
}

// holm corrects p-values for how many there are: the chance that any of them is below a
// level although there is no difference anywhere is at most that level.
func holm(ps []float64) []float64 {
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(ps[i], ps[j]) })
	corrected, least := make([]float64, len(ps)), 0.0
	for rank, i := range order {
		least = max(least, min(1, float64(len(ps)-rank)*ps[i]))
		corrected[i] = least
	}
	return corrected
}

// smallestP returns the result of mannWhitney when all of m values are below all of n values: two of the
// (m+n choose m) ways to distribute them. It is the smallest possible.
func smallestP(m, n int) float64 {
	p := 2.0
	for i := 1; i <= m; i++ {
		p *= float64(i) / float64(n+i)
	}
	return math.Min(1, p)
}

// runsFor returns the number of runs per report needed for a significant result among so many tests.
func runsFor(tests int) int {
	n := 1
	for smallestP(n, n)*float64(tests) > significance {
		n++
	}
	return n
}
