package report

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"gotest.tools/v3/assert"
)

// wellFormed writes a report as a page and checks what must hold for any of them. It
// returns its text.
func wellFormed(t *testing.T, r *Report) (pageText string) {
	t.Helper()
	var page, text strings.Builder
	assert.NilError(t, WriteHTML(&page, r))
	root, err := html.Parse(strings.NewReader(page.String()))
	assert.NilError(t, err)
	for n := range root.Descendants() {
		switch n.Type {
		case html.TextNode:
			text.WriteString(n.Data + "\n")
		case html.ElementNode:
			checkElement(t, n)
		}
	}
	return text.String()
}

func checkElement(t *testing.T, n *html.Node) {
	t.Helper()
	attrs := map[string]string{}
	for _, a := range n.Attr {
		attrs[a.Key] = a.Val
		assert.Assert(t, !strings.HasPrefix(a.Key, "on") && a.Key != "src" && a.Key != "style", "%s %s", n.Data, a.Key)
		for _, number := range []string{"x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "width", "height"} {
			if a.Key == number && n.Namespace == "svg" {
				checkPlace(t, n, number, a.Val)
			}
		}
	}
	if href, ok := attrs["href"]; ok {
		assert.Assert(t, strings.HasPrefix(href, "#suite"), href)
	}
	assert.Assert(t, !slices.Contains([]string{"script", "link", "iframe", "object", "img", "b"}, n.Data), n.Data)
	switch n.Data {
	case "th":
		assert.Assert(t, attrs["scope"] == "col" || attrs["scope"] == "row", "%v", attrs)
	case "svg":
		if attrs["aria-hidden"] == "" {
			assert.Equal(t, attrs["role"], "img")
			first := n.FirstChild
			for first.Type != html.ElementNode {
				first = first.NextSibling
			}
			assert.Equal(t, first.Data, "title")
		}
	}
}

// checkPlace looks whether a number is one, and on a picture.
func checkPlace(t *testing.T, n *html.Node, name, value string) {
	t.Helper()
	x, err := strconv.ParseFloat(value, 64)
	assert.NilError(t, err, "%s %s", n.Data, name)
	assert.Assert(t, x >= 0 && (x <= 640 || name == "y" || name == "y1" || name == "y2" || name == "height"),
		"%s %s is %s", n.Data, name, value)
}

func TestWriteHTML_EscapesNames(t *testing.T) {
	const evil = `"'><script>alert(1)</script><img src=x onerror=alert(1)>{{.}}`
	r := sampleReport()
	r.Version, r.Go, r.CPU = evil, evil, evil
	for i := range r.Suites {
		s := &r.Suites[i]
		s.Name, s.About = evil, evil
		if s.Axis != "" {
			s.Axis = evil
		}
		for j := range s.Cells {
			c := &s.Cells[j]
			c.Name, c.Line, c.Digest, c.Failure, c.Spec.Sort = evil, evil, evil, evil, evil
		}
	}
	pageText := wellFormed(t, r)
	assert.Assert(t, strings.Count(pageText, evil) > 50, "names are shown as they are")
}

func TestWriteHTML_ShowsAllFigures(t *testing.T) {
	r := sampleReport()
	pageText := wellFormed(t, r)
	for _, want := range []string{
		"canopy v0.3.0, go1.26.8, 2 cores of Example CPU @ 2.00GHz, load 0.25 before and unknown after",
		"3 runs of each cell, seed 7, started 2026-01-02 03:04:05 UTC",
		"fair: CPU per decision grows as nodes to the power of 0.12 (0.12 to 0.12), from 4 points",
		"one more level adds 0.500 (0.500 to 0.500) µs",
		"fair-100, run 3: 1.72 µs", "100,000 nodes: median 17.8 µs", "full, p99.9: 488 µs", "488 (466 to 490)",
		"nodes (logarithmic)", "CPU per decision, µs (logarithmic)",
		"Failed: 50: killed after 10 minutes", "0.987654", `"nodeSort":"binpacking"`,
		r.Suites[0].Cells[0].Digest,
	} {
		assert.Assert(t, strings.Contains(pageText, want), "%s\nis not on the page", want)
	}
	// Every sample of the suites with an axis is a dot.
	assert.Equal(t, strings.Count(pageText, ", run "), (8+4)*3)
}

func TestLogAxis_TicksDoNotOverlap(t *testing.T) {
	for _, c := range []struct {
		low, high  float64
		across, up string // upwards there is more space
	}{
		{1, 1, "0.7 0.8 0.9 1", "0.7 0.8 0.9 1"},
		{100, 300, "100 150 200 300", "100 150 200 300"},
		{1000, 10_000, "1,000 2,000 3,000 5,000 7,000 10,000",
			"900 1,000 1,500 2,000 3,000 4,000 5,000 6,000 7,000 8,000 9,000 10,000"},
		{1, 30, "1 2 3 5 7 10 20 30", "1 2 3 5 7 10 20 30"},
		{1e5, 1e7, "100,000 200,000 500,000 1e+06 2e+06 5e+06 1e+07",
			"70,000 100,000 200,000 300,000 500,000 700,000 1e+06 2e+06 3e+06 5e+06 7e+06 1e+07"},
		{1, 1000, "1 2 5 10 20 50 100 200 500 1,000",
			"0.7 1 2 3 5 7 10 20 30 50 70 100 200 300 500 700 1,000"},
		{0.1, 100_000, "0.1 1 10 100 1,000 10,000 100,000",
			"0.05 0.1 0.2 0.5 1 2 5 10 20 50 100 200 500 1,000 2,000 5,000 10,000 20,000 50,000 100,000 200,000"},
	} {
		x, y := newLogAxis(c.low, c.high, 0, 600), newLogAxis(c.low, c.high, 600, 0)
		assert.Equal(t, labels(t, x, 48), c.across)
		assert.Equal(t, labels(t, y, 18), c.up)
	}
	labels(t, newLogAxis(1e-300, 1e300, 0, 600), 48)
	labels(t, newLogAxis(math.SmallestNonzeroFloat64, math.MaxFloat64, 600, 0), 18)
}

// labels are those of the ticks of an axis 600 pixels long.
func labels(t *testing.T, a logAxis, minGap float64) string {
	t.Helper()
	var all []string
	ticks := a.ticks()
	for i, x := range ticks {
		all = append(all, x.Label)
		assert.Assert(t, x.At >= 0 && x.At <= 600)
		assert.Assert(t, i == 0 || math.Abs(x.At-ticks[i-1].At) >= minGap-0.2, "%v", ticks)
	}
	assert.Assert(t, len(ticks) >= 3, "%v", ticks)
	return strings.Join(all, " ")
}

func TestLogAxis_PowerIsStraightLine(t *testing.T) {
	up := newLogAxis(1, 10_000, 300, 0)
	step := up.at(1) - up.at(10)
	assert.Assert(t, step > 50, "larger values are higher")
	for v := 10.0; v < 10_000; v *= 10 {
		assert.Assert(t, math.Abs(up.at(v)-up.at(10*v)-step) < 0.3)
	}
}
