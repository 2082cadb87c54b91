package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// plotFrame is the frame of a plot.
var plotFrame = frame{Width: 640, Height: 380, Left: 74, Right: 620, Top: 16, Bottom: 320}

// lineStyles is the number of styles of lines in the stylesheet.
const lineStyles = 6

// plot is the cost of a decision over the axis of a suite, both logarithmic: a power law is a straight
// line.
type plot struct {
	frame
	Title, Axis    string
	XTicks, YTicks []axisTick
	Lines          []plotLine
	Named          bool     // any of the lines
	Scaling        []string // one sentence per line
}

// plotLine is a curve of medians and all the samples around it.
type plotLine struct {
	Name    string // empty: the only line
	Style   int
	Path    string // points of the medians: x,y x,y
	Medians []dot
	Dots    []dot
}

// dot is a point with its tooltip.
type dot struct {
	X, Y float64
	Text string
}

// plot returns nil when the suite has no axis or no measured values.
func (s Suite) plot() *plot {
	lines := s.lines()
	if len(lines) == 0 {
		return nil
	}
	x, y := s.axes()
	p := &plot{
		frame: plotFrame, Title: fmt.Sprintf("%s: CPU per decision over %s", s.Name, s.Axis), Axis: s.Axis,
		XTicks: x.ticks(), YTicks: y.ticks(),
	}
	for i, l := range lines {
		p.Lines = append(p.Lines, s.plotLine(l, x, y, i%lineStyles))
		p.Named = p.Named || l.name != ""
	}
	for _, g := range s.Scaling() {
		p.Scaling = append(p.Scaling, linePrefix(g.Line)+g.sentence(s.Axis))
	}
	return p
}

// axes cover all points of the plot.
func (s Suite) axes() (x, y logAxis) {
	left, right := math.Inf(1), 0.0
	low, high := math.Inf(1), 0.0
	for _, c := range s.Cells {
		for _, v := range c.values(headlineMetric) {
			if c.Size > 0 && v > 0 {
				left, right = min(left, c.Size), max(right, c.Size)
				low, high = min(low, v), max(high, v)
			}
		}
	}
	x = newLogAxis(left, right, float64(plotFrame.Left), float64(plotFrame.Right))
	return x, newLogAxis(low, high, float64(plotFrame.Bottom), float64(plotFrame.Top))
}

func (s Suite) plotLine(l curve, x, y logAxis, style int) plotLine {
	out := plotLine{Name: l.name, Style: style}
	for _, c := range s.Cells {
		if c.Line != l.name || c.Size <= 0 {
			continue
		}
		for i, v := range c.values(headlineMetric) {
			if v > 0 {
				out.Dots = append(out.Dots,
					dot{x.at(c.Size), y.at(v), fmt.Sprintf("%s, run %d: %s µs", c.Name, i+1, threeDigits(v))})
			}
		}
	}
	for i, size := range l.sizes {
		text := fmt.Sprintf("%s %s: median %s µs", threeDigits(size), s.Axis, threeDigits(l.costs[i]))
		out.Medians = append(out.Medians, dot{x.at(size), y.at(l.costs[i]), text})
	}
	slices.SortStableFunc(out.Medians, func(a, b dot) int { return cmp.Compare(a.X, b.X) })
	var path []string
	for _, d := range out.Medians {
		path = append(path, fmt.Sprintf("%g,%g", d.X, d.Y))
	}
	out.Path = strings.Join(path, " ")
	return out
}
