package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/canopy-scheduler/canopy/internal/cli/demo"
	"github.com/canopy-scheduler/canopy/internal/lab/sim"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

func checkOutput(output string) error {
	if output != "text" && output != "json" {
		return fmt.Errorf("--output is text or json, not %q", output)
	}
	return nil
}

// writeReport prints the figures of a run and then the lines of summary.
func writeReport(out io.Writer, r sim.Report, summary []string) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "QUEUE\tPRIORITY\tALLOCATED\tPENDING\tGUARANTEED\tMAX")
	for _, q := range r.Queues {
		priority := "-"
		if q.CurrentPriority != math.MinInt32 {
			priority = strconv.Itoa(int(q.CurrentPriority))
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", q.Path, priority,
			amountText(q.Allocated), amountText(q.Pending), amountText(q.Guaranteed), amountText(q.Max))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(t, "\nnodes\t%s\napplications\t%s\n", withThousands(r.Nodes), withThousands(r.Applications))
	preempted := ""
	if r.Preempted > 0 {
		preempted = withThousands(r.Preempted) + " preempted, "
	}
	fmt.Fprintf(t, "asks\t%s: %s placed, %s%s released, %s rejected, %s pending at the end\n",
		withThousands(r.Asks), withThousands(r.Allocated), preempted, withThousands(r.Released), withThousands(r.Rejected),
		withThousands(r.Pending))
	fmt.Fprintf(t, "allocated\t%s at the end\n", amountText(r.AllocatedResources))
	fmt.Fprintf(t, "time\t%.1f s, %s allocations a second\n", r.WallSeconds, withThousands(int(r.AllocationsPerSecond)))
	fmt.Fprintf(t, "latency\t%s ms median, %s ms 95%%, %s ms 99%%, from sending an ask to receiving its allocation\n",
		millis(r.LatencyMillis.P50), millis(r.LatencyMillis.P95), millis(r.LatencyMillis.P99))
	if err := t.Flush(); err != nil {
		return err
	}
	for _, line := range summary {
		fmt.Fprintln(t, line)
	}
	return t.Flush()
}

func millis(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }

// amountText writes quantities in common units, vcore and memory first; "-" for none.
func amountText(q demo.Quantities) string {
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
		return oneDecimal(float64(n)/1000) + " vcore"
	case name == "memory":
		return oneDecimal(float64(n)/gibibyte) + " GiB"
	case name == sim.GPU:
		return oneDecimal(float64(n)/1000) + " GPU"
	}
	if n == 1 && name == podCount {
		return "1 pod"
	}
	return fmt.Sprintf("%d %s", n, name)
}

// oneDecimal writes a number with one decimal, which is left out when it is zero.
func oneDecimal(x float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0")
}

// counted is a number with its noun: "1 node", "2,000 nodes". The text is that for many, and begins with
// the noun.
func counted(number, many string) string {
	if number == "1" {
		noun, rest, more := strings.Cut(many, " ")
		many = strings.TrimSuffix(noun, "s")
		if more {
			many += " " + rest
		}
	}
	return number + " " + many
}

// withThousands writes 1234567 as 1,234,567.
func withThousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
