package cmdline

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Millis returns milliseconds with one decimal.
func Millis(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }

// OneDecimal writes a number with one decimal, which is left out when it is zero.
func OneDecimal(x float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0")
}

// Counted returns a number with its noun: "1 node", "2,000 nodes". The text is that for many, and begins with
// the noun.
func Counted(number, many string) string {
	if number == "1" {
		noun, rest, more := strings.Cut(many, " ")
		many = strings.TrimSuffix(noun, "s")
		if more {
			many += " " + rest
		}
	}
	return number + " " + many
}

// WithThousands writes 1234567 as 1,234,567.
func WithThousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Plural returns a number with its noun: "1 error", "2 errors".
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// PrintJSON prints v as indented JSON.
func PrintJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// PrintableLine returns text as one line without control characters, which IDs and messages may have.
func PrintableLine(text string) string {
	return strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return '?'
		}
		return c
	}, text)
}

// Seconds returns a number of seconds as a duration.
func Seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Percent returns a part of a number as a percentage.
func Percent(part, of int) string { return fmt.Sprintf("%.0f %%", 100*float64(part)/float64(of)) }

// AmountText writes quantities in common units, vcore and memory first; "-" for none.
func AmountText(q map[string]resources.Quantity) string {
	names := make([]string, 0, len(q))
	for name := range q {
		names = append(names, name)
	}
	rank := func(name string) int { return slices.Index([]string{"memory", resources.VCore}, name) }
	slices.SortFunc(names, func(a, b string) int {
		if rank(a) != rank(b) {
			return rank(b) - rank(a)
		}
		return strings.Compare(a, b)
	})
	parts := make([]string, len(names))
	for i, name := range names {
		parts[i] = quantityText(name, q[name])
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, ", ")
}

func quantityText(name string, n resources.Quantity) string {
	const gibibyte = 1 << 30
	switch {
	case name == resources.VCore:
		return OneDecimal(float64(n)/1000) + " vcore"
	case name == "memory":
		return OneDecimal(float64(n)/gibibyte) + " GiB"
	case name == "nvidia.com/gpu":
		return OneDecimal(float64(n)/1000) + " GPU"
	}
	if n == 1 && name == "pods" {
		return "1 pod"
	}
	return fmt.Sprintf("%d %s", n, name)
}
