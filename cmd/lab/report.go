package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"text/tabwriter"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/lab/sim"
)

// writeReport prints the figures of a run and then the lines of summary.
func writeReport(out io.Writer, r sim.Report, summary []string) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "QUEUE\tPRIORITY\tALLOCATED\tPENDING\tGUARANTEED\tMAX")
	for _, q := range r.Queues {
		priority := "-"
		if q.CurrentPriority != math.MinInt32 {
			priority = strconv.Itoa(int(q.CurrentPriority))
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", q.Path, priority, cmdline.AmountText(
			q.Allocated,
		),
			cmdline.AmountText(q.Pending), cmdline.AmountText(q.Guaranteed), cmdline.AmountText(q.Max))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(t, "\nnodes\t%s\napplications\t%s\n", cmdline.WithThousands(r.Nodes),
		cmdline.WithThousands(r.Applications))
	preempted := ""
	if r.Preempted > 0 {
		preempted = cmdline.WithThousands(r.Preempted) + " preempted, "
	}
	fmt.Fprintf(t, "asks\t%s: %s placed, %s%s released, %s rejected, %s pending at the end\n", cmdline.WithThousands(
		r.Asks,
	),
		cmdline.WithThousands(r.Allocated), preempted, cmdline.WithThousands(r.Released), cmdline.WithThousands(r.Rejected),
		cmdline.WithThousands(r.Pending))
	fmt.Fprintf(t, "allocated\t%s at the end\n", cmdline.AmountText(r.AllocatedResources))
	fmt.Fprintf(t, "time\t%.1f s, %s allocations a second\n", r.WallSeconds,
		cmdline.WithThousands(int(r.AllocationsPerSecond)))
	fmt.Fprintf(t, "latency\t%s ms median, %s ms 95%%, %s ms 99%%, from sending an ask to receiving its allocation\n",
		cmdline.Millis(r.LatencyMillis.P50), cmdline.Millis(r.LatencyMillis.P95), cmdline.Millis(r.LatencyMillis.P99))
	if err := t.Flush(); err != nil {
		return err
	}
	for _, line := range summary {
		fmt.Fprintln(t, line)
	}
	return t.Flush()
}
