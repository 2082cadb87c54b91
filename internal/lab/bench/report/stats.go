package report

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
)

// headlineMetric is the metric of exponents and plots.
const headlineMetric = "cpuPerDecision"

// resamples is the number of draws of a bootstrap.
const resamples = 2000

// Estimate is a figure with its 95 % interval. Low and High are NaN when there is no interval, as with
// a single run, and one of them may be infinite. In JSON both are null.
type Estimate struct {
	Value, Low, High float64
}

// HasInterval reports whether there are enough values for an interval.
func (e Estimate) HasInterval() bool { return !math.IsNaN(e.Low) && !math.IsNaN(e.High) }

func (e Estimate) MarshalJSON() ([]byte, error) {
	finite := func(x float64) *float64 {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil
		}
		return &x
	}
	return json.Marshal(struct {
		Value *float64 `json:"value"`
		Low   *float64 `json:"low"`
		High  *float64 `json:"high"`
	}{finite(e.Value), finite(e.Low), finite(e.High)})
}

// values returns the values of a metric, in the order of the runs, without runs that lack it.
func (c Cell) values(metric string) []float64 {
	var vs []float64
	for _, s := range c.Samples {
		if v, ok := s[metric]; ok {
			vs = append(vs, v)
		}
	}
	return vs
}

// estimate returns the figure of a metric; false: there is none. Of an exact metric and of one that was
// merged over the runs, Low and High are the least and the greatest run: a percentile of all runs
// together lies between those of the runs.
func (c Cell) estimate(m Metric) (e Estimate, ok bool) {
	vs := c.values(m.Name)
	merged, isMerged := c.Merged[m.Name]
	switch {
	case len(vs) == 0:
		return e, false
	case isMerged && len(vs) > 1:
		e = spreadOf(vs)
		e.Value = merged
	case m.Exact:
		e = spreadOf(vs)
	default:
		e = medianOf(vs)
	}
	return e, true
}

// median returns the middle value, or the mean of the two in the middle. vs must be sorted and not empty.
func median(vs []float64) float64 {
	n := len(vs)
	if n%2 == 1 {
		return vs[n/2]
	}
	return middle(vs[n/2-1], vs[n/2])
}

// middle returns the mean of two values. Their sum may overflow, and half of the least number loses a bit.
func middle(a, b float64) float64 {
	if a == b {
		return a
	}
	return a/2 + b/2
}

// medianOf returns the median of a sample with its bootstrap interval. It does not depend on the order of
// the values. There must be one.
func medianOf(vs []float64) Estimate {
	vs = slices.Sorted(slices.Values(vs))
	e := Estimate{Value: median(vs), Low: math.NaN(), High: math.NaN()}
	if len(vs) == 1 {
		return e
	}
	draw := newBootstrap()
	e.Low, e.High = interval(func() float64 { return draw.median(vs) })
	return e
}

// ratioOf returns the median of now over the median of before, with its bootstrap interval. Two medians of
// zero are equal. Both must have values.
func ratioOf(before, now []float64) Estimate {
	before, now = slices.Sorted(slices.Values(before)), slices.Sorted(slices.Values(now))
	e := Estimate{Value: ratio(median(before), median(now)), Low: math.NaN(), High: math.NaN()}
	if len(before) == 1 || len(now) == 1 {
		return e
	}
	draw := newBootstrap()
	e.Low, e.High = interval(func() float64 { return ratio(draw.median(before), draw.median(now)) })
	return e
}

func ratio(before, now float64) float64 {
	if before == now {
		return 1
	}
	return now / before
}

// spreadOf returns the median with the least and the greatest value. There must be one.
func spreadOf(vs []float64) Estimate {
	vs = slices.Sorted(slices.Values(vs))
	return Estimate{Value: median(vs), Low: vs[0], High: vs[len(vs)-1]}
}

// bootstrap draws samples out of a sample, always from the same seed, so that a figure always has the
// same interval.
type bootstrap struct {
	rand  *rand.Rand
	drawn []int // how often each value was drawn
}

func newBootstrap() *bootstrap { return &bootstrap{rand: rand.New(rand.NewPCG(1, 2))} }

// median returns the median of as many values as there are, drawn with replacement. vs must be sorted.
func (b *bootstrap) median(vs []float64) float64 {
	n := len(vs)
	b.drawn = append(b.drawn[:0], make([]int, n)...)
	for range n {
		b.drawn[b.rand.IntN(n)]++
	}
	below, lower := 0, -1 // lower: the value in the middle, or the lower one of the two
	for i, times := range b.drawn {
		below += times
		if lower < 0 && below >= (n+1)/2 {
			lower = i
		}
		if below > n/2 { // with n odd this is reached together with lower
			return middle(vs[lower], vs[i])
		}
	}
	panic("bench: fewer values were drawn than there are")
}

// interval removes 2.5 % of the outcomes at both ends.
func interval(draw func() float64) (low, high float64) {
	outcomes := make([]float64, resamples)
	for i := range outcomes {
		outcomes[i] = draw()
	}
	slices.Sort(outcomes)
	const off = resamples / 40
	return outcomes[off], outcomes[resamples-1-off]
}
