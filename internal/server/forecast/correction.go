package forecast

import (
	"math"
	"slices"
	"time"
)

// Bounds of the correction.
const (
	minScores  = 50  // asks that must have started before answers are corrected
	keptScores = 500 // that the correction is from: the last ones
)

// correction widens, narrows and shifts the quantiles of answers by how right earlier ones were: it is conformal
// prediction. What runs do not know, such as asks that come later, or allocations of one job that all run long, is so
// far too little in the span.
//
// The score of a start is its distance from the median, in widths of the span on that side. If 90 % of the scores are
// below 2, the last quantile should be at twice its distance from the median.
type correction struct {
	scores []float64 // a ring
	next   int
}

// add learns from an ask that has started. raw is its answer before any correction.
func (c *correction) add(raw *Answer, waited time.Duration) {
	if raw.P90 == Missing {
		return
	}
	up, down := widths(raw)
	score := float64(waited-raw.P50) / float64(up)
	if score < 0 {
		score = float64(waited-raw.P50) / float64(down)
	}
	if len(c.scores) < keptScores {
		c.scores = append(c.scores, score)
		return
	}
	c.scores[c.next] = score
	c.next = (c.next + 1) % keptScores
}

// apply corrects an answer, once enough asks have started.
func (c *correction) apply(a Answer) Answer {
	if len(c.scores) < minScores || !a.Known() || a.P90 == Missing {
		return a
	}
	sorted := slices.Sorted(slices.Values(c.scores))
	up, down := widths(&a)
	at := func(part float64) time.Duration {
		score := sorted[max(0, int(math.Ceil(part*float64(len(sorted))))-1)]
		width := up
		if score < 0 {
			width = down
		}
		return time.Duration(min(max(0, float64(a.P50)+score*float64(width)), float64(Horizon)))
	}
	a.P10, a.P50, a.P90, a.Corrected = at(0.1), at(0.5), at(0.9), true
	return a
}

// widths returns the distances of the last and the first quantile from the median; at least a tenth of it, and a
// second.
func widths(a *Answer) (up, down time.Duration) {
	least := max(a.P50/10, time.Second)
	return max(a.P90-a.P50, least), max(a.P50-a.P10, least)
}
