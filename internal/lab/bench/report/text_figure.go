package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// threeDigits writes a number with three significant digits, or more before the point: 0.0123, 1.23,
// 12,345. NaN is a dash.
func threeDigits(x float64) string {
	size := math.Abs(x)
	switch {
	case math.IsNaN(x):
		return "-"
	case math.IsInf(x, 1):
		return "∞"
	case x == math.Trunc(x) && size < 1e15:
		return grouped(strconv.FormatFloat(x, 'f', 0, 64))
	case size < 1e-4 || size >= 1e15:
		return strconv.FormatFloat(x, 'g', 3, 64)
	}
	// The exponent after rounding: 0.9999 is 1.00, not 1.000.
	_, exponent, _ := strings.Cut(strconv.FormatFloat(x, 'e', 2, 64), "e")
	e, err := strconv.Atoi(exponent)
	if err != nil {
		panic("bench: a number without exponent: " + err.Error())
	}
	return grouped(strconv.FormatFloat(x, 'f', max(2-e, 0), 64))
}

// allDigits writes all digits of a number, for exact metrics.
func allDigits(x float64) string {
	if x == math.Trunc(x) {
		return threeDigits(x)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// sixDigits writes up to six digits, and all of a whole number.
func sixDigits(x float64) string {
	if x == math.Trunc(x) {
		return threeDigits(x)
	}
	return strconv.FormatFloat(x, 'g', 6, 64)
}

// grouped writes 1234567.8 as 1,234,567.8.
func grouped(number string) string {
	whole, fraction, _ := strings.Cut(number, ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction == "" {
		return whole
	}
	return whole + "." + fraction
}

// withMargin returns "1.23 ±4%": the farther end of the interval as a share of the value.
func (c Cell) withMargin(m Metric) string {
	e, ok := c.estimate(m)
	far := math.Max(e.High-e.Value, e.Value-e.Low)
	switch {
	case !ok:
		return "-"
	case m.Exact:
		return spreadText(e, sixDigits)
	case !e.HasInterval():
		return threeDigits(e.Value)
	case e.Value == 0 && far > 0:
		return "0 to " + threeDigits(e.High)
	case far == 0:
		return threeDigits(e.Value) + " ±0%"
	}
	return fmt.Sprintf("%s ±%.0f%%", threeDigits(e.Value), 100*far/e.Value)
}

// withEnds returns the same as "1.23 (1.20 to 1.31)".
func (c Cell) withEnds(m Metric) string {
	e, ok := c.estimate(m)
	switch {
	case !ok:
		return "-"
	case m.Exact:
		return spreadText(e, sixDigits)
	}
	return withEnds(e)
}

// withEnds returns "1.23 (1.20 to 1.31)".
func withEnds(e Estimate) string {
	if !e.HasInterval() || math.IsInf(e.Low, 0) {
		return threeDigits(e.Value)
	}
	return fmt.Sprintf("%s (%s to %s)", threeDigits(e.Value), threeDigits(e.Low), threeDigits(e.High))
}

// spreadText returns the common value of all runs, or their median with the least and the greatest.
func spreadText(e Estimate, write func(float64) string) string {
	if e.Low == e.High {
		return write(e.Value)
	}
	return fmt.Sprintf("%s (%s to %s)", write(e.Value), write(e.Low), write(e.High))
}

// SingleLine replaces control characters and line breaks of a text from a file, so that it can neither
// break a table nor control a terminal.
func SingleLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// shortDigest returns a prefix of a digest.
func shortDigest(digest string) string {
	if digest == "" {
		return "-"
	}
	letters := []rune(SingleLine(digest))
	return string(letters[:min(12, len(letters))])
}
