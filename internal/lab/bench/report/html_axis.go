package report

import (
	"math"
	"strconv"
)

// frame is the size of a picture in pixels, with the area of its axes.
type frame struct {
	Width, Height, Left, Right, Top, Bottom int
}

// The positions of labels. Names and ticks on the left end before the area.

func (f frame) MiddleX() int { return (f.Left + f.Right) / 2 }
func (f frame) MiddleY() int { return (f.Top + f.Bottom) / 2 }
func (f frame) TickX() int   { return f.Left - 8 }
func (f frame) TickY() int   { return f.Bottom + 20 }
func (f frame) TitleY() int  { return f.Bottom + 48 }
func (f frame) ValueX() int  { return f.Right + 8 }

// logAxis maps positive values to positions, with decades of equal length.
type logAxis struct {
	low, high float64 // logarithms to base 10
	from, to  float64 // positions
}

// axisTick is a value with its position on an axis.
type axisTick struct {
	At    float64
	Label string
}

// newLogAxis returns an axis for values between low and high, with margins; 0 < low <= high.
func newLogAxis(low, high, from, to float64) logAxis {
	const air = 0.08
	a := logAxis{low: math.Log10(low), high: math.Log10(high), from: from, to: to}
	if a.high-a.low < 0.3 { // noise on a flat line must not look large
		middle := (a.low + a.high) / 2
		a.low, a.high = middle-0.15, middle+0.15
	}
	width := a.high - a.low
	a.low, a.high = a.low-air*width, a.high+air*width
	return a
}

// at returns the position of a value, to a tenth of a pixel.
func (a logAxis) at(v float64) float64 {
	share := (math.Log10(v) - a.low) / (a.high - a.low)
	return math.Round(10*(a.from+share*(a.to-a.from))) / 10
}

// tickSteps are the values of a decade that may have a tick, the longest list first, with the smallest
// distance between two as a share of the decade.
var tickSteps = []struct {
	steps   []float64
	closest float64
}{
	{[]float64{1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9}, math.Log10(10. / 9)},
	{[]float64{1, 2, 3, 5, 7}, math.Log10(7. / 5)},
	{[]float64{1, 2, 5}, math.Log10(2)},
	{[]float64{1, 3}, math.Log10(3)},
	{[]float64{1}, 1},
}

// ticks returns as many round values as have space for their labels.
func (a logAxis) ticks() []axisTick {
	decades := a.high - a.low
	decade := math.Abs(a.to-a.from) / decades // in pixels
	minGap := 48.0                            // for labels side by side
	if a.to < a.from {
		minGap = 18 // for labels above each other
	}
	steps := tickSteps[len(tickSteps)-1].steps
	for _, r := range tickSteps {
		if r.closest*decade >= minGap {
			steps = r.steps
			break
		}
	}
	every := max(1, math.Ceil(minGap/decade)) // decades from tick to tick
	var ticks []axisTick
	for d := math.Floor(a.low/every) * every; d <= a.high; d += every {
		for _, step := range steps {
			v := step * math.Pow(10, d)
			if l := math.Log10(v); l >= a.low && l <= a.high {
				ticks = append(ticks, axisTick{a.at(v), tickLabel(v)})
			}
		}
	}
	return ticks
}

// tickLabel returns no more digits than a tick needs: 0.1, 1.5, 10,000, 1e+06.
func tickLabel(v float64) string {
	if v >= 1 && v < 1e6 && v == math.Trunc(v) {
		return threeDigits(v)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
