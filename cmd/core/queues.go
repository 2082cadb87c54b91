package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

const queuesHelp = `Print the queues of a running server: what each has of a resource, what it is
guaranteed and owed, its max, what is pending, and how long its oldest ask waits.

A queue is owed its guarantee as far as it has demand, and an equal part of what its parent is
owed beyond that. STARVED marks a queue whose oldest ask waits for a minute or longer while it
has less than nine tenths of what it is owed of a resource that is pending.

OVER TIME is there if a queue orders what is below it by usage over time: what was used of the
cluster on average, in which what was used a half-life ago counts for half.`

const queuesExamples = `  canopy queues
  canopy queues --queue root.research --resource memory
  canopy queues --leaves --pending --sort wait --watch`

// queueSorts are the orders of queues. Of two that are the same there, the path decides.
var queueSorts = map[string]func(resource string, a, b *dao.QueueFairness) int{
	"path": func(string, *dao.QueueFairness, *dao.QueueFairness) int { return 0 },
	"used": func(r string, a, b *dao.QueueFairness) int { return cmp.Compare(b.Allocated[r], a.Allocated[r]) },
	"pending": func(r string, a, b *dao.QueueFairness) int {
		return cmp.Or(cmp.Compare(b.Pending[r], a.Pending[r]), cmp.Compare(b.PendingAsks, a.PendingAsks))
	},
	"wait":     func(_ string, a, b *dao.QueueFairness) int { return cmp.Compare(b.WaitSeconds, a.WaitSeconds) },
	"fairness": func(_ string, a, b *dao.QueueFairness) int { return cmp.Compare(orOne(a.Fairness), orOne(b.Fairness)) },
}

func orOne(f *float64) float64 {
	if f == nil {
		return 1
	}
	return *f
}

// queuesFlags are the flags as given.
type queuesFlags struct {
	readerFlags
	leaves, pending, starve bool
}

// queuesCommand prints queues (USG-12).
func queuesCommand() *cobra.Command {
	var f queuesFlags
	cmd := f.command(&cobra.Command{Use: "queues", Short: "Print what each queue has, is owed and waits for",
		Long: queuesHelp, Example: queuesExamples}, 0, f.print)
	f.addQueue(cmd, "only the queue with this `PATH`, and those below")
	f.addResource(cmd, "vcore, or the first that there is")
	f.addSort(cmd, "path", "used", "pending", "wait", "fairness")
	flags := cmd.Flags()
	flags.BoolVar(&f.leaves, "leaves", false, "only leaf queues")
	flags.BoolVar(&f.pending, "pending", false, "only queues with pending asks")
	flags.BoolVar(&f.starve, "starved", false, "only starved queues")
	return cmd
}

// readQueues reads the queues at and below a path.
func (f *readerFlags) readQueues(ctx context.Context, path string) ([]dao.QueueFairness, error) {
	var all []dao.QueueFairness
	if err := f.read(ctx, f.path("fairness"), &all); err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s answers with no queue, and each partition has root", f.address)
	}
	path = strings.ToLower(path)
	if err := checkKnown("queue", path, all, func(q *dao.QueueFairness) string { return q.QueueName }); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(q dao.QueueFairness) bool { return !below(q.QueueName, path) }), nil
}

func (f *queuesFlags) print(ctx context.Context, out io.Writer) (any, error) {
	all, err := f.readQueues(ctx, f.queue)
	if err != nil {
		return nil, err
	}
	amounts := make([]dao.Quantities, 0, 2*len(all))
	for i := range all {
		amounts = append(amounts, all[i].Max, all[i].Allocated)
	}
	resource := mainResource(f.resource, amounts...)
	all = slices.DeleteFunc(all, func(q dao.QueueFairness) bool {
		return f.leaves && !q.IsLeaf || f.pending && q.PendingAsks == 0 || f.starve && !q.Starved
	})
	slices.SortStableFunc(all, func(a, b dao.QueueFairness) int { return queueSorts[f.sort](resource, &a, &b) })
	tree := f.sort == "path" && !f.leaves && !f.pending && !f.starve
	fmt.Fprintf(out, "partition %s, %s\n\n", f.partition, cmdline.PrintableLine(resource))
	return all, printQueues(out, all, resource, tree)
}

func printQueues(out io.Writer, all []dao.QueueFairness, resource string, tree bool) error {
	heads := "QUEUE\tUSED\tOWED\tGUAR\tMAX\tPENDING\tASKS\tWAIT\t"
	overTime := slices.ContainsFunc(all, func(q dao.QueueFairness) bool { return q.UsageOverTime != nil })
	if overTime {
		heads += "OVER TIME\t"
	}
	return printList(out, heads, all, 0, func(q *dao.QueueFairness) []string {
		name := q.QueueName
		if at := strings.LastIndexByte(name, '.'); tree && q != &all[0] && at >= 0 {
			name = strings.Repeat("  ", strings.Count(name, ".")-strings.Count(all[0].QueueName, ".")) + name[at+1:]
		}
		marks := ""
		if q.Starved {
			marks = "STARVED"
		}
		if q.Status == "Draining" || q.Status == "Stopped" {
			marks = strings.TrimSpace(marks + " " + strings.ToLower(q.Status))
		}
		row := []string{name, amount(q.Allocated, resource), amount(q.Owed, resource), boundText(q.Guaranteed, resource),
			boundText(q.Max, resource), amount(q.Pending, resource), strconv.Itoa(q.PendingAsks),
			shortDuration(time.Duration(q.WaitSeconds * float64(time.Second)))}
		switch u := q.UsageOverTime; {
		case u != nil:
			row = append(row, fmt.Sprintf("%.2g %%", 100*u.Share))
		case overTime:
			row = append(row, "")
		}
		return append(row, marks)
	})
}
