package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

const usageHelp = `Print who had what over a window of time: of each queue, user or group the
resource-hours, those who had most first.

For queues, FAIRNESS is what the queue had divided by what it was owed, 1 at most, of the
resource for which this is least. A queue is owed its guarantee as far as it has demand, and
an equal part of the rest. PENDING ASKS and RUNNING APPS are means.

Samples are known for the covered time only: not for the time in which the server did not
run. --output json has all resources, what was owed and guaranteed, and with --step a value
for each interval.`

const usageExamples = `  canopy usage --by queue --since 24h
  canopy usage --by user --since 168h --until 24h
  canopy usage --by queue --name root.research --step 1h --output json`

// usageFlags are the flags as given.
type usageFlags struct {
	readerFlags
	by, name, since, until string
	step                   time.Duration
}

// usageCommand prints usage over time (USG-12).
func usageCommand() *cobra.Command {
	var f usageFlags
	cmd := f.command(&cobra.Command{Use: "usage", Short: "Print who had what over time", Long: usageHelp,
		Example: usageExamples}, 0, f.print)
	flags := cmd.Flags()
	cmdline.TextFlag(flags, &f.by, "by", "queue", "whose usage: queue, user or group",
		cmdline.OneOf("queue", "user", "group"))
	flags.StringVar(&f.name, "name", "", "only the queue with this `PATH`, or the user or group of this name")
	const aTime = "of the window, a `TIME`: RFC 3339, or how long ago"
	cmdline.TextFlag(flags, &f.since, "since", "24h", "the begin "+aTime, func(text string) error {
		return cmp.Or(cmdline.NotEmpty(text), cmdline.TimeOrAgo(text))
	})
	cmdline.TextFlag(flags, &f.until, "until", "", "the end "+aTime+"; not given: now", cmdline.TimeOrAgo)
	cmdline.DurationFlag(flags, &f.step, "step", 0, "with --output json, also the means of intervals of this length", 0)
	f.addResource(cmd, "vcore and memory")
	f.addLimit(cmd, 20)
	return cmd
}

func (f *usageFlags) print(ctx context.Context, out io.Writer) (any, error) {
	query := url.Values{"by": {f.by}, "since": {f.since}, "partition": {f.partition}}
	if f.name != "" {
		query.Set("name", f.name)
	}
	if f.until != "" {
		query.Set("until", f.until)
	}
	if f.step > 0 {
		query.Set("step", f.step.String())
	}
	var w dao.UsageWindow
	if err := f.read(ctx, "/ws/v1/history/usage?"+query.Encode(), &w); err != nil {
		return nil, err
	}
	covered := 0.0
	if w.WindowSeconds > 0 {
		covered = 100 * w.CoveredSeconds / w.WindowSeconds
	}
	fmt.Fprintf(out, "partition %s, %s to %s, %.0f %% covered\n", w.Partition, w.Since, w.Until, covered)
	if len(w.Series) == 0 {
		fmt.Fprintf(out, "\nno %s had anything\n", f.by)
		return w, nil
	}
	shown := []string{"vcore", "memory"}
	if f.resource != "" {
		shown = []string{f.resource}
	}
	heads := map[string]string{"queue": "QUEUE", "user": "USER", "group": "GROUP"}[f.by]
	for _, name := range shown {
		heads += "\t" + hoursHead(name)
	}
	if f.by == "queue" {
		heads += "\tFAIRNESS"
	}
	fmt.Fprintln(out)
	series := w.Series
	if f.limit > 0 {
		series = series[:min(f.limit, len(series))]
	}
	err := printList(out, heads+"\tPENDING ASKS\tRUNNING APPS", series, 0, func(x *dao.UsageSeries) []string {
		cells := []string{x.Name}
		for _, name := range shown {
			cells = append(cells, hours(name, x.AllocatedSeconds[name]))
		}
		if f.by == "queue" {
			cells = append(cells, ratio(x.Fairness))
		}
		return append(cells, mean(x.PendingAskSeconds, w.CoveredSeconds), mean(x.RunningSeconds, w.CoveredSeconds))
	})
	if omitted := w.Omitted + len(w.Series) - len(series); omitted > 0 {
		fmt.Fprintf(out, "and %d more with less; see --limit and --name\n", omitted)
	}
	return w, err
}

// hoursHead returns the head of the column of a resource.
func hoursHead(resource string) string {
	switch {
	case resource == "vcore":
		return "VCORE-HOURS"
	case resources.IsBytes(resource):
		return strings.ToUpper(cmdline.PrintableLine(resource)) + " GiB-HOURS"
	}
	return strings.ToUpper(cmdline.PrintableLine(resource)) + "-HOURS"
}

// hours are resource-seconds in the unit of hoursHead.
func hours(resource string, n int64) string {
	f := float64(n) / 3600
	switch {
	case resource == "vcore":
		f /= 1000
	case resources.IsBytes(resource):
		f /= 1 << 30
	}
	return fmt.Sprintf("%.2f", f)
}

// mean returns a sum over time as a mean.
func mean(sum int64, covered float64) string {
	if covered <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", float64(sum)/covered)
}
