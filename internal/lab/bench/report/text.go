package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// maxColumns is the number of figures side by side in a table.
const maxColumns = 8

// WriteText writes a report for a terminal: a head with the machine and the versions, and for each
// suite its figures, the growth of the cost of a decision, and failures. With more than one run a
// figure is the median, and ± the farther end of its 95 % interval; of a percentile or a
// mean of all runs together, ± is the farthest run. Errors are those of w.
func WriteText(w io.Writer, r *Report) error {
	// A tabwriter keeps what failed until it is flushed, and so does its last flush.
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s\n%s\n", r.machine(), r.runInfo())
	for _, s := range r.Suites {
		if err := s.writeText(t); err != nil {
			return err
		}
	}
	return t.Flush()
}

// machine describes the versions and the machine.
func (r *Report) machine() string {
	cpu := "of an unknown CPU"
	if r.CPU != "" {
		cpu = "of " + SingleLine(r.CPU)
	}
	return fmt.Sprintf("canopy %s, %s, %s %s, load %s before and %s after",
		SingleLine(r.Version), SingleLine(r.Go), countText(r.Cores, "core"), cpu, loadText(r.LoadBefore),
		loadText(r.LoadAfter))
}

// stolenWarningShare is the share of stolen time from which percentiles may be affected by the host.
const stolenWarningShare = 0.005

// runInfo returns the time and the number of runs.
func (r *Report) runInfo() string {
	s := fmt.Sprintf("%s of each cell, seed %d, started %s",
		countText(r.Runs, "run"), r.Seed, r.Started.UTC().Format(time.DateTime+" UTC"))
	if r.Cores > 0 && r.LoadBefore > float64(r.Cores) {
		s += "\nwarning: the machine was busier than it has cores, so no figure here is to be trusted"
	}
	if r.Stolen >= stolenWarningShare {
		s += fmt.Sprintf("\nwarning: the host of this virtual machine took %.1f %% of its processors meanwhile, so "+
			"percentiles are not to be trusted", 100*r.Stolen)
	}
	if r.Incomplete != "" {
		s += "\nwarning: incomplete: " + SingleLine(r.Incomplete)
	}
	return s
}

func loadText(x float64) string {
	if x < 0 {
		return "unknown"
	}
	return fmt.Sprintf("%.2f", x)
}

func countText(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// present returns the metrics that a run of the suite has, in the order of Metrics.
func (s Suite) present() []Metric {
	var ms []Metric
	for _, m := range Metrics {
		if slices.ContainsFunc(s.Cells, func(c Cell) bool { return len(c.values(m.Name)) > 0 }) {
			ms = append(ms, m)
		}
	}
	return ms
}

func (s Suite) writeText(t *tabwriter.Writer) error {
	fmt.Fprintf(t, "\n%s: %s\n", SingleLine(s.Name), SingleLine(s.About))
	first := true
	for ms := range slices.Chunk(s.present(), maxColumns) {
		fmt.Fprintln(t)
		s.writeTable(t, ms, first)
		first = false
		// flushed, so that the columns of one table do not widen those of the next
		if err := t.Flush(); err != nil {
			return err
		}
	}
	grows := s.Scaling()
	if len(grows) > 0 {
		fmt.Fprintln(t)
	}
	for _, g := range grows {
		fmt.Fprintf(t, "%s%s\n", linePrefix(g.Line), g.sentence(s.Axis))
	}
	for _, c := range s.Cells {
		if c.Failure != "" {
			fmt.Fprintf(t, "failed: %s: %s\n", SingleLine(c.Name), SingleLine(c.Failure))
		}
	}
	return t.Flush()
}

func linePrefix(line string) string {
	if line == "" {
		return ""
	}
	return SingleLine(line) + ": "
}

// writeTable writes one row per cell. The first table of a suite also has the numbers of runs and the
// digests.
func (s Suite) writeTable(t *tabwriter.Writer, ms []Metric, first bool) {
	head, units := []string{"CELL"}, []string{""}
	if first {
		head, units = append(head, "RUNS"), append(units, "")
	}
	for _, m := range ms {
		head, units = append(head, m.Name), append(units, m.Unit)
	}
	if first {
		head = append(head, "DIGEST")
	}
	fmt.Fprintf(t, "%s\n%s\n", strings.Join(head, "\t"), strings.Join(units, "\t"))
	for _, c := range s.Cells {
		row := []string{SingleLine(c.Name)}
		if first {
			row = append(row, fmt.Sprint(len(c.Samples)))
		}
		for _, m := range ms {
			row = append(row, c.withMargin(m))
		}
		if first {
			row = append(row, shortDigest(c.Digest))
		}
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
}

// sentence describes the growth of the cost along the axis.
func (g Scaling) sentence(axis string) string {
	axis = SingleLine(axis)
	if g.Err != nil {
		return fmt.Sprintf("how the cost grows with %s is not known: %v", axis, g.Err)
	}
	s := fmt.Sprintf("CPU per decision grows as %s to the power of %.2f (%.2f to %.2f), from %d points",
		axis, g.Exponent.Value, g.Exponent.Low, g.Exponent.High, g.Points)
	if g.PerLevel != nil {
		s += fmt.Sprintf("; one more level adds %s µs", withEnds(*g.PerLevel))
	}
	return s
}
