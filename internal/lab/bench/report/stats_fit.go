package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// Scaling is the growth of the cost of a decision along a line of a suite.
type Scaling struct {
	Line     string   // as in Cell; empty: the suite's only line
	Points   int      // cells that have a size and a cost
	Exponent Estimate // of the cost as a power of the size: 0 does not grow, 1 grows in step
	// PerLevel is the CPU in µs that one more level of the tree adds to a decision, if the axis is
	// "levels"; else nil.
	PerLevel *Estimate
	// why there is no Exponent and no PerLevel, such as too few points
	Err error
}

// Scaling fits the lines of a suite, in order. Each cell counts once, with its median: further runs of
// a cell are no further sizes. Lines without a cost are left out, so a suite without an axis has none.
func (s Suite) Scaling() []Scaling {
	var all []Scaling
	for _, line := range s.lines() {
		fit := Scaling{Line: line.name, Points: len(line.sizes)}
		logs := func(vs []float64) []float64 {
			out := make([]float64, len(vs))
			for i, v := range vs {
				out[i] = math.Log(v)
			}
			return out
		}
		fit.Exponent, fit.Err = slope(logs(line.sizes), logs(line.costs))
		if s.Axis == "levels" && fit.Err == nil {
			// It cannot fail where the fit of the logarithms did not.
			perLevel, _ := slope(line.sizes, line.costs)
			fit.PerLevel = &perLevel
		}
		all = append(all, fit)
	}
	return all
}

// curve are the median costs of a line over sizes, both positive.
type curve struct {
	name         string
	sizes, costs []float64
}

func (s Suite) lines() []curve {
	var lines []curve
	if s.Axis == "" {
		return nil
	}
	for _, c := range s.Cells {
		costs := c.values(headlineMetric)
		if c.Size <= 0 || len(costs) == 0 {
			continue
		}
		cost := medianOf(costs).Value
		if cost <= 0 { // has no logarithm
			continue
		}
		i := slices.IndexFunc(lines, func(l curve) bool { return l.name == c.Line })
		if i < 0 {
			i, lines = len(lines), append(lines, curve{name: c.Line})
		}
		lines[i].sizes = append(lines[i].sizes, c.Size)
		lines[i].costs = append(lines[i].costs, cost)
	}
	return lines
}

// slope returns the slope of the least squares line through the points, with its interval by Student's distribution.
func slope(xs, ys []float64) (Estimate, error) {
	distinct := slices.Compact(slices.Sorted(slices.Values(xs)))
	if len(distinct) < 3 {
		return Estimate{}, fmt.Errorf("a slope needs at least 3 points of different size, and there are %d", len(distinct))
	}
	n := float64(len(xs))
	meanX, meanY := mean(xs), mean(ys)
	var xx, xy float64
	for i := range xs {
		xx += (xs[i] - meanX) * (xs[i] - meanX)
		xy += (xs[i] - meanX) * (ys[i] - meanY)
	}
	b := xy / xx
	var rest float64
	for i := range xs {
		d := ys[i] - meanY - b*(xs[i]-meanX)
		rest += d * d
	}
	half := stats.InvCDF(stats.TDist{V: n - 2})(0.975) * math.Sqrt(rest/(n-2)/xx)
	return Estimate{Value: b, Low: b - half, High: b + half}, nil
}

func mean(vs []float64) float64 {
	sum := 0.0
	for _, v := range vs {
		sum += v / float64(len(vs))
	}
	return sum
}
