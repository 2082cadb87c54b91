package report

import (
	"math"
	"testing"

	"gotest.tools/v3/assert"
)

func TestFigure_Format(t *testing.T) {
	for want, x := range map[string]float64{
		"0": 0, "7": 7, "1,234,567": 1234567, "-1,234": -1234, "12,346": 12345.6, "123": 123.4, "1.23": 1.2345,
		"0.0123": 0.012345, "0.000123": 0.00012345, "1.23e-05": 0.000012345, "1.00": 0.99999, "1,000": 999.96,
		"1e+15": 1e15, "1.23e+20": 1.2345e20, "-": math.NaN(), "∞": math.Inf(1), "-0.500": -0.5,
	} {
		assert.Equal(t, threeDigits(x), want)
	}
	assert.Equal(t, allDigits(0.98765432), "0.98765432")
	assert.Equal(t, allDigits(1000000), "1,000,000")
	assert.Equal(t, sixDigits(0.98765432), "0.987654")
	assert.Equal(t, sixDigits(0.4999999999), "0.5")
	assert.Equal(t, sixDigits(1000000), "1,000,000")
}

func TestCell_Margins(t *testing.T) {
	vague, exact := Metric{Name: "m"}, Metric{Name: "m", Exact: true}
	for _, c := range []struct {
		m      Metric
		values []float64
		want   string
		ends   string
	}{
		{vague, nil, "-", "-"},
		{vague, []float64{2.5}, "2.50", "2.50"},
		{vague, []float64{100, 90, 120}, "100 ±20%", "100 (90 to 120)"},
		{vague, []float64{3, 3}, "3 ±0%", "3 (3 to 3)"},
		{vague, []float64{0, 0}, "0 ±0%", "0 (0 to 0)"},
		{vague, []float64{0, 0, 0.5}, "0 to 0.500", "0 (0 to 0.500)"},
		{exact, []float64{0.25, 0.25}, "0.25", "0.25"},
		{exact, []float64{1, 3, 4}, "3 (1 to 4)", "3 (1 to 4)"},
	} {
		var cell Cell
		for _, v := range c.values {
			cell.Samples = append(cell.Samples, Sample{}, Sample{"m": v}) // runs without it do not count
		}
		assert.Equal(t, cell.withMargin(c.m), c.want)
		assert.Equal(t, cell.withEnds(c.m), c.ends)
	}
	// A percentile of all runs together is no median of the runs.
	merged := Cell{Samples: []Sample{{"m": 10}, {"m": 11}, {"m": 20}}, Merged: Sample{"m": 16, "other": 1}}
	assert.Equal(t, merged.withMargin(vague), "16 ±38%")
	assert.Equal(t, merged.withEnds(vague), "16 (10 to 20)")
	assert.Equal(t, merged.withEnds(Metric{Name: "other"}), "-")
	one := Cell{Samples: []Sample{{"m": 10}}, Merged: Sample{"m": 10}}
	assert.Equal(t, one.withEnds(vague), "10")
}

func TestPlain_RemovesControlCharacters(t *testing.T) {
	assert.Equal(t, SingleLine("a\tb\r\n\x1b[2J \u202ec é"), "a b [2J c é")
	assert.Equal(t, shortDigest("0123456789abcdef"), "0123456789ab")
	assert.Equal(t, shortDigest("äöü"), "äöü")
	assert.Equal(t, shortDigest(""), "-")
}
