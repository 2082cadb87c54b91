package report

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"gotest.tools/v3/assert"
)

// TestTranscripts shows what people are shown. Run with -rewrite after a change, then
// read the diff; a page can be cut out of html.txt and looked at.
func TestTranscripts(t *testing.T) {
	talks := 0
	datadriven.Walk(t, "testdata/transcripts", func(t *testing.T, path string) {
		talks++
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			switch d.Cmd {
			case "text":
				assert.NilError(t, WriteText(&out, sampleReport()))
			case "html":
				assert.NilError(t, WriteHTML(&out, sampleReport()))
			case "compare":
				threshold := 0.05
				d.MaybeScanArgs(t, "threshold", &threshold)
				assert.NilError(t, compareText(t, d, threshold).WriteText(&out))
			case "verdicts":
				for _, f := range compareText(t, d, 0.05).Figures {
					fmt.Fprintf(&out, "%s %s: %s\n", f.Cell, f.Metric, f.Verdict)
				}
			default:
				d.Fatalf(t, "unknown command %q", d.Cmd)
			}
			return out.String()
		})
	})
	assert.Equal(t, talks, 3)
}

// compareText reads lines such as
//
//	flat a cpuPerDecision: 10 10.1 | 12 12.1
//	flat a digest: 1 | 2
//	flat a failure: - | killed
//	machine cpu: one | other
//
// as old | new, and compares the two. A side without anything does not have the cell.
func compareText(t *testing.T, d *datadriven.TestData, threshold float64) *Comparison {
	t.Helper()
	machine := Report{Version: "v1", Go: "go1", CPU: "cpu", Cores: 2, Runs: 1}
	sides := []Report{machine, machine}
	for line := range strings.Lines(d.Input) {
		what, ends, found := strings.Cut(strings.TrimSpace(line), ":")
		assert.Assert(t, found, "%s: %q", d.Pos, line)
		words := strings.Fields(what)
		for i, end := range strings.Split(ends, "|") {
			end = strings.TrimSpace(end)
			switch {
			case words[0] == "machine":
				assert.Equal(t, words[1], "cpu")
				sides[i].CPU = end
			case end != "":
				enterLine(t, &sides[i], words, end)
			}
		}
	}
	return Compare(&sides[0], &sides[1], threshold)
}

// enterLine enters what a line says about one side: a suite, a cell, a metric or field, values.
func enterLine(t *testing.T, r *Report, words []string, end string) {
	t.Helper()
	assert.Equal(t, len(words), 3, "%v", words)
	if suiteNamed(r.Suites, words[0]) == nil {
		r.Suites = append(r.Suites, Suite{Name: words[0]})
	}
	s := suiteNamed(r.Suites, words[0])
	if cellNamed(s.Cells, words[1]) == nil {
		s.Cells = append(s.Cells, Cell{Name: words[1], Digest: "same"})
	}
	c := cellNamed(s.Cells, words[1])
	switch words[2] {
	case "digest":
		c.Digest = end
		return
	case "failure":
		c.Failure = strings.Trim(end, "-")
		return
	}
	assert.Assert(t, IsMetric(words[2]), "metric %q", words[2])
	for i, field := range strings.Fields(end) {
		v, err := strconv.ParseFloat(field, 64)
		assert.NilError(t, err)
		if i == len(c.Samples) {
			c.Samples = append(c.Samples, Sample{})
		}
		c.Samples[i][words[2]] = v
	}
}
