package report

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// NothingCompared is the text of a comparison without figures.
const NothingCompared = "nothing was compared: the reports have no work in common"

// WriteText writes a comparison for a terminal: warnings, a row for every figure, what was not
// compared, the number of each verdict, and the worse figures. Errors are those of w.
func (c *Comparison) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, warning := range c.Warnings {
		fmt.Fprintf(t, "warning: %s\n", warning)
	}
	suite := ""
	for i, f := range c.Figures {
		if i == 0 || f.Suite != suite {
			if err := t.Flush(); err != nil { // columns are aligned within a suite
				return err
			}
			suite = f.Suite
			fmt.Fprintf(t, "\n%s\n\nCELL\tMETRIC\tUNIT\tOLD\tNEW\tRATIO\tP\tVERDICT\n", SingleLine(suite))
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", SingleLine(f.Cell), f.Metric, f.Unit, f.figures())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	c.writeNotCompared(t)
	c.writeSummary(t)
	return t.Flush()
}

func (c *Comparison) writeNotCompared(t *tabwriter.Writer) {
	if len(c.NotCompared) > 0 {
		fmt.Fprintln(t, "\nnot compared:")
	}
	for _, o := range c.NotCompared {
		fmt.Fprintf(t, "  %s: %s\n", o.place(), SingleLine(o.Why))
	}
}

// place returns "suite, cell, metric", as far as it goes.
func (o NotCompared) place() string {
	place := SingleLine(o.Suite)
	for _, part := range []string{o.Cell, o.Metric} {
		if part != "" {
			place += ", " + SingleLine(part)
		}
	}
	return place
}

func (c *Comparison) writeSummary(t *tabwriter.Writer) {
	v := c.Verdicts
	fmt.Fprintf(t, "\n%d better, %d worse, %d no difference, %d too few runs; differences up to %s do not count\n",
		v.Better, v.Worse, v.NoDifference, v.TooFewRuns, percent(c.Threshold))
	if len(c.Figures) == 0 {
		fmt.Fprintln(t, NothingCompared)
	}
	if v.TooFewRuns > 0 {
		fmt.Fprintf(t, "to see a difference among so many figures takes at least %d runs a side\n", c.RunsFor)
	}
	for _, f := range c.Figures {
		if f.Verdict == Worse {
			fmt.Fprintf(t, "worse: %s, %s, %s: was %s, is %s (%s)\n", SingleLine(f.Suite), SingleLine(f.Cell), f.Metric,
				f.end(f.Old), f.end(f.New), f.Unit)
		}
	}
	for _, o := range c.NotCompared {
		if o.Worse {
			fmt.Fprintf(t, "worse: %s: %s\n", o.place(), SingleLine(o.Why))
		}
	}
}

// figures returns the columns of a row from OLD on.
func (f Compared) figures() string {
	p := "exact"
	if f.P != nil {
		p = fmt.Sprintf("%.2g", *f.P)
	}
	return fmt.Sprintf("%s\t%s\t%s\t%s\t%s", f.end(f.Old), f.end(f.New), withEnds(f.Ratio), p, f.Verdict)
}

func (f Compared) end(e Estimate) string {
	if f.metric.Exact {
		return spreadText(e, allDigits)
	}
	return withEnds(e)
}

// percent writes a share: 0.05 is "5%".
func percent(share float64) string { return fmt.Sprintf("%.4g%%", 100*share) }
