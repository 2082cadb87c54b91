package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// latencyFamilies are the latencies with percentiles.
var latencyFamilies = []struct{ prefix, title string }{
	{"decision", "Time of one decision in the core"},
	{"askToAllocation", "From ask to allocation"},
	{"releaseToNext", "From a release to the next allocation"},
}

// barPercentiles are the suffixes of their metrics, and the displayed names.
var barPercentiles = []struct{ suffix, name string }{{"P50", "p50"}, {"P99", "p99"}, {"P999", "p99.9"}}

// Sizes of bars in pixels, with the space for names on the left and values on the right.
const (
	barsWidth, barsLeft, barsRight = 640, 190, 460
	barsTop, barsBottom            = 10, 34
	barPitch, barHeight            = 26, 16
	maxNameLetters                 = 24 // in letters
)

// bars show percentiles of a latency, a row per cell, on one logarithmic axis.
type bars struct {
	frame
	Title  string
	Ticks  []axisTick
	Rows   []barRow
	Legend []bar // of the present percentiles
}

// barRow has the bars of a cell, the longest first: shorter ones are drawn on top.
type barRow struct {
	Name, Cell      string // shortened, and in full
	Y, TextY, Thick int    // upper edge, base line of the text, height
	Bars            []bar
	Text            string // the values
}

// bar is a percentile. Kind is its index in barPercentiles.
type bar struct {
	Kind  int
	Width float64
	Text  string
}

// latencies returns the families for which the suite has a positive value.
func (s Suite) latencies() []bars {
	var all []bars
	for _, f := range latencyFamilies {
		low, high := math.Inf(1), 0.0
		for _, c := range s.Cells {
			for _, p := range barPercentiles {
				if v, ok := c.latency(f.prefix + p.suffix); ok {
					low, high = min(low, v), max(high, v)
				}
			}
		}
		if high > 0 {
			all = append(all, s.bars(f.prefix, f.title, newLogAxis(axisStart(low), high, barsLeft, barsRight)))
		}
	}
	return all
}

// axisStart returns the start of the axis of bars, so that the shortest has a length.
func axisStart(low float64) float64 { return max(low/2, math.SmallestNonzeroFloat64) }

// latency returns a value that is missing without samples, and if it is zero: a logarithmic axis has no position for
// it.
func (c Cell) latency(metric string) (v float64, ok bool) {
	e, _ := c.estimate(Metric{Name: metric})
	return e.Value, e.Value > 0
}

func (s Suite) bars(prefix, title string, x logAxis) bars {
	b := bars{
		frame: frame{Width: barsWidth, Left: barsLeft, Right: barsRight, Top: barsTop}, Title: title, Ticks: x.ticks(),
	}
	for _, c := range s.Cells {
		row := barRow{Name: shortened(c.Name), Cell: c.Name, Thick: barHeight}
		row.Y = barsTop + len(b.Rows)*barPitch + (barPitch-barHeight)/2
		row.TextY = row.Y + barHeight - 4
		var text []string
		for kind, p := range barPercentiles {
			if v, ok := c.latency(prefix + p.suffix); ok {
				text = append(text, threeDigits(v))
				width := math.Round(10*(x.at(v)-barsLeft)) / 10
				row.Bars = append(row.Bars, bar{kind, width, fmt.Sprintf("%s, %s: %s µs", c.Name, p.name, threeDigits(v))})
			}
		}
		slices.Reverse(row.Bars)
		if len(text) > 0 {
			row.Text = strings.Join(text, " / ")
			b.Rows = append(b.Rows, row)
		}
	}
	for kind, p := range barPercentiles {
		if slices.ContainsFunc(s.Cells, func(c Cell) bool { _, ok := c.latency(prefix + p.suffix); return ok }) {
			b.Legend = append(b.Legend, bar{Kind: kind, Text: p.name})
		}
	}
	b.Bottom = barsTop + len(b.Rows)*barPitch
	b.Height = b.Bottom + barsBottom
	return b
}

// shortened returns a name, cut to maxNameLetters.
func shortened(name string) string {
	if letters := []rune(name); len(letters) > maxNameLetters {
		return string(letters[:maxNameLetters-1]) + "…"
	}
	return name
}
