package tune

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// WriteText writes the objectives, every trial with its figures, the proposal and the lines that it changes.
func (r *Result) WriteText(out io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "partition %s, %s to %s (%s), %d steps\n", r.Partition, r.From.UTC().Format(time.RFC3339),
		r.To.UTC().Format(time.RFC3339),
		r.To.Sub(r.From).Round(time.Second), r.Steps)
	for _, o := range r.Objectives {
		fmt.Fprintf(&b, "objective: %s\n", o)
	}
	fmt.Fprintf(&b,
		"others: a median of at most %g times what it was and 1 s, "+
			"and at most %g times as many asks that never ran and 1\n\n", r.Others, r.Others)

	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "TRIAL\tCHANGE")
	for _, o := range r.Objectives {
		fmt.Fprintf(t, "\t%s %s", o.Queue, o.Quantile)
	}
	fmt.Fprintln(t, "\tWORST OF THE OTHERS\tVERDICT")
	for i, x := range append([]*Trial{r.Base}, r.Trials...) {
		r.writeTrial(t, i, x)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	b.WriteString("\n" + r.conclusion() + "\n")
	for _, reason := range r.Reasons {
		b.WriteString("  - " + reason + "\n")
	}
	if len(r.Diff) > 0 {
		b.WriteString("\nlines of queues.yaml that it changes:\n" + strings.Join(r.Diff, "\n") + "\n")
	}
	if len(r.Assumptions) > 0 {
		b.WriteString("\nassumptions:\n")
	}
	for _, a := range r.Assumptions {
		fmt.Fprintf(&b, "  - %s\n", a)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// writeTrial writes a trial as a row, and its values after the first as rows below.
func (r *Result) writeTrial(out io.Writer, number int, t *Trial) {
	fmt.Fprintf(out, "%d\t%s", number, t.Change[:min(1, len(t.Change))])
	for i := range r.Objectives {
		switch {
		case t.Refused != "":
			fmt.Fprint(out, "\t-")
		case number == 0:
			fmt.Fprintf(out, "\t%s", t.Figures[i])
		default:
			fmt.Fprintf(out, "\t%s > %s", r.Base.Figures[i], t.Figures[i])
		}
	}
	worst := "-"
	if t.Worst != nil && number > 0 {
		worst = t.Worst.String()
	}
	verdict := t.Verdict()
	if number == 0 && !t.MeetsObjectives {
		verdict = "as given"
	}
	fmt.Fprintf(out, "\t%s\t%s\n", worst, verdict)
	for i := 1; i < len(t.Change); i++ {
		fmt.Fprintf(out, "\t%s%s\n", t.Change[i:i+1], strings.Repeat("\t", 2+len(r.Objectives)))
	}
}

// conclusion returns the result in one line.
func (r *Result) conclusion() string {
	switch {
	case r.Status == NotNeeded:
		return "no change is needed: the objective holds with the given configuration"
	case r.Status == Found:
		return "proposal: " + r.Proposal.Change.String()
	case r.Proposal == nil:
		return "no change was found"
	}
	return "no change was found that meets all; the nearest is: " + r.Proposal.Change.String()
}
