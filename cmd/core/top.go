package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

const topHelp = `Print the leaf queues and the applications of a running server that have most of a
resource, again after each interval until an interrupt; with --watch=0 once.`

const topExamples = `  canopy top
  canopy top --queue root.research --resource memory --limit 20
  canopy top --watch=0 --output json`

// topFlags are the flags as given.
type topFlags struct{ readerFlags }

// topCommand prints the busiest queues and applications (USG-12).
func topCommand() *cobra.Command {
	var f topFlags
	cmd := f.command(&cobra.Command{Use: "top", Short: "Print the busiest queues and applications, again and again",
		Long: topHelp, Example: topExamples}, defaultWatch, f.print)
	f.addQueue(cmd, "only the queue with this `PATH`, and below")
	f.addResource(cmd, "vcore, or the first that there is")
	cmdline.IntFlag(cmd.Flags(), &f.limit, "limit", 8, "how many queues and how many applications", 1)
	return cmd
}

// busiest has the JSON of canopy top.
type busiest struct {
	Resource     string               `json:"resource"`
	Total        dao.QueueFairness    `json:"total"` // of --queue, or root
	Queues       []dao.QueueFairness  `json:"queues"`
	Applications []applicationSummary `json:"applications"`
}

func (f *topFlags) print(ctx context.Context, out io.Writer) (any, error) {
	queues, err := f.readQueues(ctx, f.queue)
	if err != nil {
		return nil, err
	}
	apps, err := f.readApplications(ctx, "active")
	if err != nil {
		return nil, err
	}
	b := busiest{Total: queues[0], Resource: mainResource(f.resource, queues[0].Max, queues[0].Allocated),
		Applications: []applicationSummary{}}
	queues = slices.DeleteFunc(queues, func(q dao.QueueFairness) bool { return !q.IsLeaf })
	slices.SortStableFunc(queues, func(x, y dao.QueueFairness) int { return queueSorts["used"](b.Resource, &x, &y) })
	b.Queues = queues[:min(f.limit, len(queues))]
	sortApplications(apps, "used", b.Resource)
	for i := range apps {
		if len(b.Applications) < f.limit && below(apps[i].QueueName, b.Total.QueueName) {
			b.Applications = append(b.Applications, apps[i].summary())
		}
	}
	t := &b.Total
	fmt.Fprintf(out, "partition %s, %s: %s of %s %s, %s running, %s\n\n", f.partition, cmdline.PrintableLine(t.QueueName),
		amount(t.Allocated, b.Resource),
		boundText(t.Max, b.Resource), cmdline.PrintableLine(b.Resource), cmdline.Plural(t.RunningApps, "application"),
		cmdline.Plural(t.PendingAsks, "pending ask"))
	if err := printQueues(out, b.Queues, b.Resource, false); err != nil {
		return nil, err
	}
	fmt.Fprintln(out)
	return b, printApplications(out, b.Applications, true, b.Resource, 0)
}
