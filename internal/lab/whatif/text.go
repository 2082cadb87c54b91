package whatif

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// WriteText writes the comparison side by side, each figure as "recorded > changed", or once where they are equal.
func (c *Comparison) WriteText(out io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "partition %s, %s to %s (%s), %d steps\nchanged: %s\n", c.Partition, c.From.UTC().Format(time.RFC3339),
		c.To.UTC().Format(time.RFC3339),
		c.To.Sub(c.From).Round(time.Second), c.Steps, strings.Join(c.Changes, ", "))
	if c.Same {
		b.WriteString("every ask starts and ends at the recorded time\n")
	}
	for _, part := range []struct {
		name     string
		all      [2]Group
		recorded []Group
		changed  []Group
	}{{"QUEUE", [2]Group{c.Recorded.All, c.Changed.All}, c.Recorded.Queues, c.Changed.Queues},
		{"USER", [2]Group{c.Recorded.All, c.Changed.All}, c.Recorded.Users, c.Changed.Users}} {
		b.WriteString("\n")
		t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprintf(t, "%s\tASKS\tSTARTED\tNEVER RAN\tWAIT MEDIAN\tWAIT 95 %%\tPREEMPTED", part.name)
		if part.name == "QUEUE" {
			fmt.Fprint(t, "\tBELOW GUARANTEE\tUSAGE")
		}
		fmt.Fprintln(t)
		for _, p := range append([]pair{{part.all[0], part.all[1]}}, pairs(part.recorded, part.changed)...) {
			p.writeText(t, part.name == "QUEUE")
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	if held := usageText(c.Recorded.Held, c.Changed.Held); held != "" {
		fmt.Fprintf(&b, "\nheld by reservations and idle: %s\n", held)
	}
	b.WriteString("\nassumptions:\n")
	for _, a := range c.Assumptions {
		fmt.Fprintf(&b, "  - %s\n", a)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// pair is a group in both runs.
type pair struct{ recorded, changed Group }

// pairs returns the groups of both runs by name; one that is in one run only is empty in the other.
func pairs(recorded, changed []Group) (out []pair) {
	for len(recorded)+len(changed) > 0 {
		switch {
		case len(changed) == 0 || len(recorded) > 0 && recorded[0].Name < changed[0].Name:
			out = append(out, pair{recorded[0], Group{Name: recorded[0].Name}})
			recorded = recorded[1:]
		case len(recorded) == 0 || changed[0].Name < recorded[0].Name:
			out = append(out, pair{Group{Name: changed[0].Name}, changed[0]})
			changed = changed[1:]
		default:
			out = append(out, pair{recorded[0], changed[0]})
			recorded, changed = recorded[1:], changed[1:]
		}
	}
	return out
}

func (p pair) writeText(out io.Writer, queue bool) {
	a, b := p.recorded, p.changed
	count := func(a, b int) string { return both(fmt.Sprint(a), fmt.Sprint(b)) }
	fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\t%s", a.Name, count(a.Asks, b.Asks), count(a.Started, b.Started),
		count(a.Waiting, b.Waiting),
		both(FormatSeconds(a.Wait.Median), FormatSeconds(b.Wait.Median)),
		both(FormatSeconds(a.Wait.P95), FormatSeconds(b.Wait.P95)), count(a.Preempted, b.Preempted))
	if queue {
		fmt.Fprintf(out, "\t%s\t%s", both(percent(a.Starved), percent(b.Starved)), usageText(a.Usage, b.Usage))
	}
	fmt.Fprintln(out)
}

// both returns a figure of both runs.
func both(a, b string) string {
	if a == b {
		return a
	}
	return a + " > " + b
}

// FormatSeconds returns a wait with three digits, or the whole seconds.
func FormatSeconds(s float64) string {
	switch {
	case s == 0:
		return "0"
	case s < 1:
		return fmt.Sprintf("%.0fms", s*1000)
	case s < 10:
		return fmt.Sprintf("%.2fs", s)
	case s < 100:
		return fmt.Sprintf("%.1fs", s)
	}
	return time.Duration(s * float64(time.Second)).Round(time.Second).String()
}

func percent(part float64) string { return fmt.Sprintf("%.0f %%", 100*part) }

// usageText returns the mean of each resource, and what is guaranteed of it.
func usageText(a, b []Usage) string {
	var parts []string
	for _, x := range a {
		if y, ok := usageOf(b, x.Resource); ok {
			parts = append(parts, x.Resource+" "+both(x.text(), y.text()))
		} else {
			parts = append(parts, x.Resource+" "+both(x.text(), "0"))
		}
	}
	for _, y := range b {
		if _, ok := usageOf(a, y.Resource); !ok {
			parts = append(parts, y.Resource+" "+both("0", y.text()))
		}
	}
	return strings.Join(parts, ", ")
}

func usageOf(list []Usage, resource string) (Usage, bool) {
	for _, x := range list {
		if x.Resource == resource {
			return x, true
		}
	}
	return Usage{}, false
}

func (u Usage) text() string {
	text := resources.FormatQuantity(u.Resource, resources.Quantity(rounded(u.Resource, u.Mean)))
	if u.Guaranteed != nil {
		text += " of " + resources.FormatQuantity(u.Resource, resources.Quantity(*u.Guaranteed))
	}
	return text
}

// rounded returns a mean without digits that say nothing, so that it has a short unit: whole cores, and other large
// ones are of bytes.
func rounded(resource string, mean int64) int64 {
	if resource == resources.VCore && mean >= 10_000 {
		return (mean + 500) / 1000 * 1000
	}
	for _, unit := range []int64{1 << 40, 1 << 30, 1 << 20} {
		if mean >= 10*unit {
			return (mean + unit/2) / unit * unit
		}
	}
	return mean
}
